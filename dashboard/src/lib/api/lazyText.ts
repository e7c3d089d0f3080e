// Strings of components outside the first load.

export const passkeyErrors = {
  title: 'No passkey',
  errors: {
    NotAllowedError: 'It was canceled, took too long, or the device could not verify you.',
    InvalidStateError: 'This device already has one of your passkeys.',
    SecurityError: 'Passkeys don’t work at the address of this page.',
  } as Record<string, string>,
  unsupported: 'This browser does not support passkeys, or is too old.',
  notUsed: 'Your passkey was not used.',
  retry: 'Nothing was sent; your draft is kept. Approve again to retry.',
  notChanged: 'Nothing was changed. Try again and confirm with your passkey.',
  notCreated: 'No passkey was created.',
  notCreatedHint: 'Try again, or use another device.',
}
