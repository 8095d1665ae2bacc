//! The types of a client of `openidconnect`, for our claims and endpoints.

use openidconnect::{
    AuthType, Client, ClientId, ClientSecret, EmptyExtraTokenFields, EndpointMaybeSet, EndpointNotSet,
    EndpointSet, IdTokenFields, StandardErrorResponse, StandardTokenResponse,
    core::{
        CoreAuthDisplay, CoreAuthPrompt, CoreClientAuthMethod, CoreErrorResponseType, CoreGenderClaim,
        CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJwsSigningAlgorithm, CoreRevocableToken,
        CoreRevocationErrorResponse, CoreTokenIntrospectionResponse, CoreTokenType,
    },
};

use crate::{claims::OtherClaims, metadata::Metadata};

/// The answer of a token endpoint.
pub(crate) type Tokens = StandardTokenResponse<
    IdTokenFields<
        OtherClaims,
        EmptyExtraTokenFields,
        CoreGenderClaim,
        CoreJweContentEncryptionAlgorithm,
        CoreJwsSigningAlgorithm,
    >,
    CoreTokenType,
>;

/// A client with the endpoints of a discovery document.
pub(crate) type OidcClient = Client<
    OtherClaims,
    CoreAuthDisplay,
    CoreGenderClaim,
    CoreJweContentEncryptionAlgorithm,
    CoreJsonWebKey,
    CoreAuthPrompt,
    StandardErrorResponse<CoreErrorResponseType>,
    Tokens,
    CoreTokenIntrospectionResponse,
    CoreRevocableToken,
    CoreRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The accepted signature algorithms. All use a public key: `none` and the HMAC algorithms are missing on purpose.
pub(crate) const ALGORITHMS: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// Creates a client that authenticates as the provider's documents say.
pub(crate) fn client(metadata: Metadata, id: ClientId, secret: Option<ClientSecret>) -> OidcClient {
    let auth_type = auth_type(&metadata);
    OidcClient::from_provider_metadata(metadata, id, secret).set_auth_type(auth_type)
}

/// Returns the coordinator's method of authentication at the token endpoint.
pub(crate) fn auth_type(metadata: &Metadata) -> AuthType {
    let methods = metadata.token_endpoint_auth_methods_supported();
    let offers = |method| methods.is_some_and(|methods| methods.contains(&method));
    // A provider that lists nothing supports basic authentication.
    match offers(CoreClientAuthMethod::ClientSecretPost) && !offers(CoreClientAuthMethod::ClientSecretBasic) {
        true => AuthType::RequestBody,
        false => AuthType::BasicAuth,
    }
}
