/** What receivers do with a delivery, as docs/webhooks.md has it (OPS-17). */
export const VERIFY = `import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 300

export type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Whether a request comes from the service: \`body\` is what arrived, byte for byte, \`secret\` the whole \`whsec_…\`. */
export function isAuthentic(headers: Headers, body: Buffer, secret: string, now = Date.now()): boolean {
  const timestamp = String(headers['x-service-timestamp'])
  if (!/^\\d+$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const expected = Buffer.from(\`sha256=\${createHmac('sha256', secret).update(\`\${timestamp}.\`).update(body).digest('hex')}\`)
  return [headers['x-service-signature'], headers['x-service-signature-next']].some((signature) => {
    const given = Buffer.from(String(signature))
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
`

/** A delivery of one's own, for SECRET and URL. */
export const TRIAL = `body='{"event":"webhook.test","occurred_at":"2026-11-21T08:17:15.123-03:00","origin":"system","data":{}}'
timestamp=$(date +%s)
signature=$(printf '%s.%s' "$timestamp" "$body" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d' ' -f1)
curl -sS -o /dev/null -w '%{http_code}\\n' "$URL" -H 'Content-Type: application/json' \\
  -H 'X-Service-Event: webhook.test' -H "X-Service-Delivery: test-$timestamp" \\
  -H "X-Service-Timestamp: $timestamp" -H "X-Service-Signature: sha256=$signature" --data-binary "$body"
`
