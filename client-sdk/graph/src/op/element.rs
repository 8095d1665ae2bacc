//! Elementwise operators.

/// An elementwise operator: its inputs are broadcast to one shape by NumPy's rules.
///
/// Booleans are 1 for true and 0 for false; any number but 0 is read as true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementOp {
    /// `-x`
    Negate,
    /// `|x|`
    Absolute,
    /// The sign of `x`: -1, 0 or 1.
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
    /// The sine of an angle in radians.
    Sine,
    /// The cosine of an angle in radians.
    Cosine,
    /// `max(x, 0)`, with derivative 0 at 0.
    Relu,
    /// The largest integer less than or equal to `x`.
    Floor,
    /// `x` rounded towards 0.
    Truncate,
    /// 1 where `x` is 0, else 0.
    Not,
    /// 1 where `x` is NaN.
    IsNan,
    /// `x` as a constant: its gradient is 0.
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
    /// The smaller number; NaN if either is NaN.
    Minimum,
    /// The larger number; NaN if either is NaN.
    Maximum,
    /// 1 where `a = b`, else 0.
    Equal,
    /// 1 where `a < b`, else 0.
    Less,
    /// 1 where `a ≤ b`, else 0.
    LessOrEqual,
    /// 1 where `a` and `b` are both true, else 0.
    And,
    /// 1 where `a` or `b` is true, else 0.
    Or,
    /// `b` where `a` is true, else `c`.
    Select,
}

impl ElementOp {
    /// All operators.
    pub const ALL: [Self; 30] = [
        Self::Negate,
        Self::Absolute,
        Self::Sign,
        Self::Exponential,
        Self::Logarithm,
        Self::SquareRoot,
        Self::Tanh,
        Self::Sigmoid,
        Self::Erf,
        Self::Sine,
        Self::Cosine,
        Self::Relu,
        Self::Floor,
        Self::Truncate,
        Self::Not,
        Self::IsNan,
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

    /// Returns the number of inputs.
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
            | Self::Sine
            | Self::Cosine
            | Self::Relu
            | Self::Floor
            | Self::Truncate
            | Self::Not
            | Self::IsNan
            | Self::Detach => 1,
            Self::Select => 3,
            _ => 2,
        }
    }
}
