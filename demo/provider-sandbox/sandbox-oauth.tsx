import { createHash, randomBytes } from 'node:crypto'
import express, { type Response, type Router } from 'express'
import { renderToString } from 'preact-render-to-string'
import * as z from 'zod'
import type { Connections } from './sandbox-methods.ts'
import { Refusal } from './sandbox-server.ts'

const CODE_MS = 600_000
const ACCOUNT = 1_234_567_890

const Request = z.object({
  response_type: z.literal('code'),
  client_id: z.string().min(1),
  redirect_uri: z.url(),
  state: z.string().min(1),
  code_challenge: z.string().regex(/^[\w-]{43}$/),
  code_challenge_method: z.literal('S256'),
})
type Request = z.infer<typeof Request>

const client = { client_id: z.string().min(1), client_secret: z.string().min(1) }
const Grant = z.discriminatedUnion('grant_type', [
  z.object({
    ...client,
    grant_type: z.literal('authorization_code'),
    code: z.string(),
    code_verifier: z.string(),
    redirect_uri: z.string(),
    test_token: z.boolean().default(false),
  }),
  z.object({ ...client, grant_type: z.literal('refresh_token'), refresh_token: z.string() }),
])

/** What a refresh token renews. */
interface Access {
  readonly client_id: string
  readonly isTest: boolean
}

/** `/authorization`: the page on which an owner grants access; `/oauth/token`: tokens for codes and refresh tokens. */
export function oauth(connections: Connections, now: () => Date): Router {
  const router = express.Router()
  const codes = new Map<string, Request & { readonly until: number }>()
  const accesses = new Map<string, Access>()

  router.get('/authorization', (request, response) => {
    const asked = Request.safeParse(request.query)
    if (!asked.success) throw new Refusal(400, z.prettifyError(asked.error))
    const code = `TG-${randomBytes(16).toString('hex')}`
    codes.set(code, { ...asked.data, until: now().getTime() + CODE_MS })
    const back = (answer: Readonly<Record<string, string>>) => {
      const url = new URL(asked.data.redirect_uri)
      for (const [name, value] of Object.entries({ ...answer, state: asked.data.state }))
        url.searchParams.set(name, value)
      return url.href
    }
    response.setHeader('Content-Security-Policy', "default-src 'none'")
    const page = <Page grant={back({ code })} deny={back({ error: 'access_denied' })} />
    response.type('html').send(`<!doctype html>${renderToString(page)}`)
  })

  router.post('/oauth/token', (request, response) => {
    const asked = Grant.safeParse(request.body)
    if (!asked.success) return refuse(response, 400, 'invalid_request')
    const grant = asked.data
    if (grant.client_secret.startsWith('INVALID')) return refuse(response, 401, 'invalid_client')
    const access = grant.grant_type === 'refresh_token' ? renewed(grant) : granted(grant)
    if (!access) return refuse(response, 400, 'invalid_grant')
    const refresh_token = `TG-${randomBytes(16).toString('hex')}`
    accesses.set(refresh_token, access)
    response.json({
      access_token: `${access.isTest ? 'TEST' : 'APP_USR'}-${randomBytes(16).toString('hex')}-${ACCOUNT}`,
      token_type: 'Bearer',
      expires_in: connections.token_seconds,
      scope: 'offline_access payments read write',
      user_id: ACCOUNT,
      refresh_token,
      live_mode: !access.isTest,
    })
  })

  /** A code is valid once. */
  function granted({
    client_id,
    code,
    code_verifier,
    redirect_uri,
    test_token,
  }: z.infer<typeof Grant> & { grant_type: 'authorization_code' }) {
    const asked = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256').update(code_verifier).digest('base64url')
    const fits =
      asked?.client_id === client_id && asked.redirect_uri === redirect_uri && asked.code_challenge === challenge
    return fits && asked.until >= now().getTime() ? { client_id, isTest: test_token } : null
  }

  /** A refresh token is valid once. */
  function renewed({ client_id, refresh_token }: { readonly client_id: string; readonly refresh_token: string }) {
    const access = accesses.get(refresh_token)
    if (connections.revoked || access?.client_id !== client_id) return null
    accesses.delete(refresh_token)
    return access
  }

  return router
}

function refuse(response: Response, status: number, error: string): void {
  response.status(status).json({ message: error, error, status, cause: [] })
}

const Page = ({ grant, deny }: { readonly grant: string; readonly deny: string }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <title>Payment provider sandbox</title>
    </head>
    <body>
      <h1>Payment provider sandbox</h1>
      <p>The service asks for access to account {ACCOUNT}.</p>
      <p>
        <a href={grant}>Grant access</a>
      </p>
      <p>
        <a href={deny}>Deny access</a>
      </p>
    </body>
  </html>
)
