/** Signature check of a receiver, as in docs/webhooks.md (OPS-17). */
export const VERIFY = `import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 300

/** A plain object, a Map or \`Headers\`, with names in any case. */
export type Headers = Iterable<readonly [string, unknown]> | Readonly<Record<string, unknown>>

/** Whether a request comes from the service: \`body\` is what arrived, byte for byte, \`secret\` the whole \`whsec_…\`. */
export function isAuthentic(headers: Headers, body: Buffer, secret: string, now = Date.now()): boolean {
  const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers)
  const header = new Map(pairs.map(([name, value]) => [name.toLowerCase(), [value].flat().join(' ')]))
  const id = header.get('webhook-id') ?? ''
  const timestamp = header.get('webhook-timestamp') ?? ''
  if (!/^\\d+$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const key = Buffer.from(secret.trim().replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\`).update(body).digest('base64')
  const expected = Buffer.from(\`v1,\${signature}\`)
  return (header.get('webhook-signature') ?? '').split(' ').some((each) => {
    const given = Buffer.from(each)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
`

/** Sends a test delivery with SECRET to URL. */
export const TRIAL = `body='{"event":"webhook.test","occurred_at":"2026-11-21T08:17:15.123-03:00","origin":"system","data":{}}'
timestamp=$(date +%s)
id="test-$timestamp"
key=$(printf %s "\${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
signature=$(printf '%s.%s.%s' "$id" "$timestamp" "$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
curl -sS -o /dev/null -w '%{http_code}\\n' "$URL" -H 'Content-Type: application/json' \\
  -H 'X-Service-Event: webhook.test' -H "webhook-id: $id" \\
  -H "webhook-timestamp: $timestamp" -H "webhook-signature: v1,$signature" --data-binary "$body"
`
