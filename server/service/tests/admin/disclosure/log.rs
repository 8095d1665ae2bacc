//! Reads the fields of log lines from the source code that writes them.

/// Returns the field names of every log call at level `INFO` or above, and of the spans around them.
pub(super) fn fields(source: &str) -> Vec<String> {
    all_arguments(source).filter_map(|argument| name(&argument)).collect()
}

/// Returns the arguments whose value is logged in the form of `Debug`, which is for programmers.
pub(super) fn in_debug_form(source: &str) -> Vec<String> {
    let value =
        |argument: &str| argument.split_once('=').map_or(argument, |(_, value)| value).trim().to_owned();
    let is_debug = |value: String| value.starts_with('?') || value.contains("field::debug");
    all_arguments(source).filter(|argument| name(argument).is_some() && is_debug(value(argument))).collect()
}

fn all_arguments(source: &str) -> impl Iterator<Item = String> {
    let lines = ["tracing::info!(", "tracing::warn!(", "tracing::error!(", "tracing::error_span!("];
    let calls = lines.into_iter().flat_map(|start| source.split(start).skip(1));
    calls.flat_map(arguments)
}

/// Splits a macro's arguments at their commas, up to the end of the call.
fn arguments(rest: &str) -> Vec<String> {
    let (mut depth, mut in_text, mut is_escaped) = (0_u32, false, false);
    let (mut arguments, mut current) = (Vec::new(), String::new());
    for character in rest.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if in_text => is_escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            ')' if depth == 0 => break,
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(std::mem::take(&mut current));
                continue;
            }
            _ => {}
        }
        current.push(character);
    }
    arguments.push(current);
    arguments
}

/// Returns the name of a field; `None` for the message and its arguments.
fn name(argument: &str) -> Option<String> {
    let name = argument.split('=').next()?.trim().trim_start_matches(['%', '?']);
    let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    (is_name && !name.is_empty()).then(|| name.to_owned())
}

#[test]
fn fields_are_read_with_and_without_a_value() {
    let source = r#"tracing::info!(%task, round = a(1, 2), ?phase, "it, \"is\" ({so})"); other(x); tracing::debug!(no);"#;
    assert_eq!(fields(source), ["task", "round", "phase"]);
    let debug = in_debug_form(
        r#"tracing::warn!(a = ?b, c = %d, ?e, f = tracing::field::debug(g), h, "{i:?} = ?j");"#,
    );
    assert_eq!(debug.len(), 3, "{debug:?}");
}
