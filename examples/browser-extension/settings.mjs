/** The coordinator, and the token with which an installed extension enrols. */
export const settings = { coordinator: 'http://127.0.0.1:8443', enrolmentToken: '…' };
