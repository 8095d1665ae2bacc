//! Deserializes the JSON directly into rows: a generic tree would take many times the file's size.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::rows::{Number, Rows};

/// Defines a visitor with one or more methods, and its deserialization seed.
macro_rules! seed {
    ($name:ident, $start:ident, $expecting:literal, { $($methods:tt)* }) => {
        impl<'de> DeserializeSeed<'de> for $name<'_, '_> {
            type Value = ();

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
                deserializer.$start(self)
            }
        }

        impl<'de> Visitor<'de> for $name<'_, '_> {
            type Value = ();

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str($expecting)
            }

            $($methods)*
        }
    };
}

/// Stops deserialization; the rows keep the actual error.
fn refused<E: Error>(_: super::rows::Refused) -> E {
    E::custom("refused")
}

/// A whole file.
pub(super) struct File<'r, 'o>(pub(super) &'r mut Rows<'o>);

seed!(File, deserialize_map, "an object with user_data", {
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut users, mut counts) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "users" => users = Some(map.next_value::<Vec<String>>()?),
                "num_samples" => counts = Some(map.next_value::<Vec<u64>>()?),
                "user_data" => map.next_value_seed(Users(&mut *self.0))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.0.end_file(users, counts).map_err(refused)
    }
});

/// The data of all users.
struct Users<'r, 'o>(&'r mut Rows<'o>);

seed!(Users, deserialize_map, "an object with an entry for each user", {
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.begin_users();
        while let Some(user) = map.next_key::<String>()? {
            self.0.begin_user(user).map_err(refused)?;
            map.next_value_seed(User(&mut *self.0))?;
            self.0.end_user().map_err(refused)?;
        }
        Ok(())
    }
});

/// The data of one user.
struct User<'r, 'o>(&'r mut Rows<'o>);

seed!(User, deserialize_map, "an object with x and y", {
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "x" => {
                    self.0.begin_features().map_err(refused)?;
                    map.next_value_seed(Features(&mut *self.0))?;
                }
                "y" => {
                    self.0.begin_labels().map_err(refused)?;
                    map.next_value_seed(Labels(&mut *self.0))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
});

/// The features of one user's examples.
struct Features<'r, 'o>(&'r mut Rows<'o>);

seed!(Features, deserialize_seq, "a list of examples", {
    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        self.0.next_row();
        while rows.next_element_seed(Row(&mut *self.0))?.is_some() {
            self.0.end_row().map_err(refused)?;
            self.0.next_row();
        }
        Ok(())
    }
});

/// The features of one example: numbers, lists of them, or letters.
struct Row<'r, 'o>(&'r mut Rows<'o>);

seed!(Row, deserialize_any, "numbers or letters", {
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push_letters(text).map_err(refused)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.0.push_feature(number).map_err(refused)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.push_feature(number as f64).map_err(refused)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.push_feature(number as f64).map_err(refused)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<(), A::Error> {
        self.0.enter_list();
        while numbers.next_element_seed(Row(&mut *self.0))?.is_some() {}
        self.0.leave_list();
        Ok(())
    }
});

/// The labels of one user's examples.
struct Labels<'r, 'o>(&'r mut Rows<'o>);

seed!(Labels, deserialize_seq, "a list of labels", {
    fn visit_seq<A: SeqAccess<'de>>(self, mut labels: A) -> Result<(), A::Error> {
        self.0.next_row();
        while labels.next_element_seed(Label(&mut *self.0))?.is_some() {
            self.0.next_row();
        }
        Ok(())
    }
});

/// One label.
struct Label<'r, 'o>(&'r mut Rows<'o>);

seed!(Label, deserialize_any, "a number or a letter", {
    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push_letter_label(text).map_err(refused)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.0.push_label(Number::Real(number)).map_err(refused)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.0.push_label(Number::Negative(number)).map_err(refused)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.push_label(Number::Whole(number)).map_err(refused)
    }
});
