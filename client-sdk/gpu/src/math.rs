//! The functions of `shader/shared/math.wgsl`.

use folkmoot_graph::op::ElementOp;

/// Returns the name of an operator's WGSL function. It takes one number for each input of the operator.
pub(crate) fn function_name(op: ElementOp) -> &'static str {
    match op {
        ElementOp::Negate => "negate",
        ElementOp::Absolute => "absolute",
        ElementOp::Sign => "sign_of",
        ElementOp::Exponential => "exponential",
        ElementOp::Logarithm => "logarithm",
        ElementOp::SquareRoot => "square_root",
        ElementOp::Tanh => "hyperbolic_tangent",
        ElementOp::Sigmoid => "sigmoid",
        ElementOp::Erf => "error_function",
        ElementOp::Sine => "sine",
        ElementOp::Cosine => "cosine",
        ElementOp::Relu => "relu",
        ElementOp::Floor => "floor_of",
        ElementOp::Truncate => "truncate",
        ElementOp::Not => "logical_not",
        ElementOp::IsNan => "is_not_a_number",
        ElementOp::Detach => "detach",
        ElementOp::Add => "add",
        ElementOp::Subtract => "subtract",
        ElementOp::Multiply => "multiply",
        ElementOp::Divide => "divide",
        ElementOp::Power => "power",
        ElementOp::Minimum => "minimum",
        ElementOp::Maximum => "maximum",
        ElementOp::Equal => "equal",
        ElementOp::Less => "less",
        ElementOp::LessOrEqual => "less_or_equal",
        ElementOp::And => "logical_and",
        ElementOp::Or => "logical_or",
        ElementOp::Select => "choose",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = include_str!("../shader/shared/math.wgsl");

    #[test]
    fn every_operation_has_a_function_of_its_arity() {
        for op in ElementOp::ALL {
            let head = format!("fn {}(", function_name(op));
            let start = SOURCE.find(&head).expect("the shader has the function") + head.len();
            let parameters = SOURCE[start..].split(')').next().map(|list| list.matches(": f32").count());
            assert_eq!(parameters, Some(op.arity()), "{op:?}");
        }
    }
}
