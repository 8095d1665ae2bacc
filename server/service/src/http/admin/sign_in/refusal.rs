use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;
use folkmoot_sign_in::SignInError;

/// The delay in milliseconds before a client repeats a request because the provider cannot be reached.
const RETRY_MILLISECONDS: u64 = 5_000;

/// Converts the error of a sign-in.
pub fn refusal(error: &SignInError) -> Refusal {
    let detail = error.to_string();
    match error {
        SignInError::Unavailable(_) => {
            Refusal::new(ErrorCode::IdentityProviderUnavailable, detail).retry_after(RETRY_MILLISECONDS)
        }
        SignInError::Unverified(_) | SignInError::NotCompleted(_) => {
            Refusal::new(ErrorCode::SignInFailed, detail)
        }
        SignInError::NoDeviceGrant(_) => Refusal::new(ErrorCode::ResourceUnknown, detail),
        SignInError::NoRole { .. } => Refusal::new(ErrorCode::RoleInsufficient, detail),
    }
}
