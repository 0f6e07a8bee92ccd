// Asks the browser for a passkey and submits its answer with the form around the button.

/** @param {string} text Base64url. */
const bytesOf = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (one) => one.charCodeAt(0))

/** @param {ArrayBuffer} bytes */
const textOf = (bytes) =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '')

/** @param {{ id: string }[] | undefined} credentials */
const withBytes = (credentials = []) => credentials.map((one) => ({ ...one, id: bytesOf(one.id) }))

/** @param {any} options */
async function create(options) {
  const { challenge, user, excludeCredentials } = options
  const publicKey = {
    ...options,
    challenge: bytesOf(challenge),
    user: { ...user, id: bytesOf(user.id) },
    excludeCredentials: withBytes(excludeCredentials),
  }
  const made = /** @type {any} */ (await navigator.credentials.create({ publicKey }))
  const { clientDataJSON, attestationObject } = made.response
  return {
    id: made.id,
    rawId: textOf(made.rawId),
    type: made.type,
    response: {
      clientDataJSON: textOf(clientDataJSON),
      attestationObject: textOf(attestationObject),
      transports: made.response.getTransports?.() ?? [],
    },
  }
}

/** @param {any} options */
async function get(options) {
  const { challenge, allowCredentials } = options
  const publicKey = { ...options, challenge: bytesOf(challenge), allowCredentials: withBytes(allowCredentials) }
  const used = /** @type {any} */ (await navigator.credentials.get({ publicKey }))
  const { clientDataJSON, authenticatorData, signature } = used.response
  return {
    id: used.id,
    rawId: textOf(used.rawId),
    type: used.type,
    response: {
      clientDataJSON: textOf(clientDataJSON),
      authenticatorData: textOf(authenticatorData),
      signature: textOf(signature),
    },
  }
}

for (const part of document.querySelectorAll('[data-passkey]')) {
  const [button, field, problem] = ['button', 'input', '.error'].map((one) => part.querySelector(one))
  if (!(part instanceof HTMLElement) || !(field instanceof HTMLInputElement) || !window.PublicKeyCredential) continue
  const ask = async () => {
    if (problem instanceof HTMLElement) problem.hidden = true
    try {
      const options = JSON.parse(part.dataset.options ?? '{}')
      field.value = JSON.stringify(await (part.dataset.passkey === 'create' ? create(options) : get(options)))
      // Fields beside the button may be empty.
      field.form?.submit()
    } catch {
      if (problem instanceof HTMLElement) problem.hidden = false
    }
  }
  part.hidden = false
  if (button) button.addEventListener('click', ask)
  else
    field.form?.addEventListener('submit', (event) => {
      event.preventDefault()
      void ask()
    })
}
