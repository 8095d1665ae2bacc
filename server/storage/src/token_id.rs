/// The public part of an enrolment token, safe to show and to log: 16 hexadecimal digits.
pub type TokenId = String;
