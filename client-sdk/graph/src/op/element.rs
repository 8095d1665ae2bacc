//! What is computed element by element.

/// An elementwise operation: its inputs are repeated to one shape by NumPy's rules.
///
/// Truth is 1 and falsehood 0; anything but 0 is read as true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementOp {
    /// `-x`
    Negate,
    /// `|x|`
    Absolute,
    /// -1, 0 or 1.
    Sign,
    /// `e^x`
    Exponential,
    /// The natural logarithm.
    Logarithm,
    /// `√x`
    SquareRoot,
    /// The hyperbolic tangent.
    Tanh,
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// The error function.
    Erf,
    /// `max(x, 0)`, with derivative 0 at 0.
    Relu,
    /// The largest integer that is not above.
    Floor,
    /// The integer part.
    Truncate,
    /// 1 where `x` is 0.
    Not,
    /// `x`, as if it did not depend on anything: its gradient is 0.
    Detach,
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a b`
    Multiply,
    /// `a / b`
    Divide,
    /// `a^b`
    Power,
    /// The smaller; NaN if one is.
    Minimum,
    /// The larger; NaN if one is.
    Maximum,
    /// 1 where `a = b`.
    Equal,
    /// 1 where `a < b`.
    Less,
    /// 1 where `a ≤ b`.
    LessOrEqual,
    /// 1 where both are true.
    And,
    /// 1 where one is true.
    Or,
    /// `b` where `a` is true, else `c`.
    Select,
}

impl ElementOp {
    /// Every operation.
    pub const ALL: [Self; 27] = [
        Self::Negate,
        Self::Absolute,
        Self::Sign,
        Self::Exponential,
        Self::Logarithm,
        Self::SquareRoot,
        Self::Tanh,
        Self::Sigmoid,
        Self::Erf,
        Self::Relu,
        Self::Floor,
        Self::Truncate,
        Self::Not,
        Self::Detach,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Power,
        Self::Minimum,
        Self::Maximum,
        Self::Equal,
        Self::Less,
        Self::LessOrEqual,
        Self::And,
        Self::Or,
        Self::Select,
    ];

    /// The number of inputs.
    pub fn arity(self) -> usize {
        match self {
            Self::Negate
            | Self::Absolute
            | Self::Sign
            | Self::Exponential
            | Self::Logarithm
            | Self::SquareRoot
            | Self::Tanh
            | Self::Sigmoid
            | Self::Erf
            | Self::Relu
            | Self::Floor
            | Self::Truncate
            | Self::Not
            | Self::Detach => 1,
            Self::Select => 3,
            _ => 2,
        }
    }
}
