use folkmoot_protocol::secure::{Advertisement, Identity, SecureMessage};

/// The client's next message, which its enrolment key may have to sign first.
#[derive(Clone, Debug, PartialEq)]
pub enum Draft {
    /// The message can be sent.
    Ready(SecureMessage),
    /// The message needs a signature, because the coordinator may be malicious.
    Unsigned(Unsigned),
}

/// A message without its signature. A host may take its time to sign: browsers sign asynchronously.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsigned {
    text: String,
    signs: Signs,
}

/// The content that a signature vouches for.
#[derive(Clone, Debug, PartialEq)]
enum Signs {
    Keys(Advertisement),
    Survivors,
}

impl Draft {
    pub(super) fn keys(advertisement: Advertisement, text: Option<String>) -> Self {
        match text {
            Some(text) => Draft::Unsigned(Unsigned { text, signs: Signs::Keys(advertisement) }),
            None => Draft::Ready(SecureMessage::Keys { advertisement }),
        }
    }

    pub(super) fn agreement(text: String) -> Self {
        Draft::Unsigned(Unsigned { text, signs: Signs::Survivors })
    }

    /// Completes the message. `sign` signs a text with the enrolment key. It is called only if a signature is needed.
    pub fn sign_with(self, sign: impl FnOnce(&str) -> Identity) -> SecureMessage {
        match self {
            Draft::Ready(message) => message,
            Draft::Unsigned(unsigned) => {
                let identity = sign(unsigned.text());
                unsigned.signed(identity)
            }
        }
    }
}

impl Unsigned {
    /// Returns the text to sign with the enrolment key.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Completes the message with the enrolment key and its signature over the text.
    pub fn signed(self, identity: Identity) -> SecureMessage {
        match self.signs {
            Signs::Keys(keys) => {
                SecureMessage::Keys { advertisement: Advertisement { identity: Some(identity), ..keys } }
            }
            Signs::Survivors => SecureMessage::Agreement { signature: identity.signature },
        }
    }
}
