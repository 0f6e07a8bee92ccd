import { beforeEach } from 'mocha'
import { createUser } from '#commands/user-commands.ts'
import type { Role } from '#domain/rights.ts'
import type { TestApi, TestApiOptions, TestCompany } from './api.ts'
import { cheapHash } from './passwords.ts'
import { standIn, useApi } from './use-api.ts'

/** Page or redirect. */
export interface PanelReply {
  readonly status: number
  readonly headers: Headers
  /** HTML. */
  readonly html: string
  /** Target of a redirect. */
  readonly to: string | null
}

/** Browser session with cookies and without scripts. */
export interface PanelUser {
  readonly id: number
  readonly email: string
  readonly password: string
  /** Gets a page, with its path as in the address bar: `/painel/clientes`. */
  get(path: string): Promise<PanelReply>
  /**
   * Submits the form of a page that has this `action` (the page's own path by default): its hidden fields, then the
   * given ones. Throws if the page has no such form.
   */
  submit(page: string, fields: FormFields, action?: string): Promise<PanelReply>
  /** Sends exactly these fields. */
  post(path: string, fields: FormFields, headers?: Record<string, string>): Promise<PanelReply>
  logIn(password?: string): Promise<PanelReply>
  /** Cookie header of the session. */
  cookie(): string
}

type FormFields = Readonly<Record<string, string | readonly string[]>>

/** Text that runs as a script if a page does not escape it. */
export const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`

let users = 0

/** Creates a logged-in user of a company. */
export async function panelUser(
  api: TestApi,
  company: TestCompany,
  role: Role = 'owner',
  terms: { access_until?: string; personal_data?: boolean } = role === 'auditor' ? { access_until: '2099-12-31' } : {},
): Promise<PanelUser> {
  const [email, password] = [`pessoa${++users}@loja${company.id}.example`, 'uma senha de teste']
  const created = await company.run(createUser, {
    name: `Pessoa ${users}`,
    email,
    role,
    ...terms,
    password_hash: await cheapHash(password),
  })
  const user = userWithBrowser(api.url, { id: created.id, email, password })
  await user.logIn()
  return user
}

/** `useApi`, with a new company and a logged-in user for each test. */
export function usePanelUser(role?: Role, options?: Parameters<TestApi['company']>[0], service?: TestApiOptions) {
  const api = useApi(service)
  let company: TestCompany | undefined
  let user: PanelUser | undefined

  beforeEach('log in to the panel', async () => {
    company = await api.company(options)
    user = await panelUser(api, company, role)
  })

  return { api, company: standIn('the company', () => company), user: standIn('the user', () => user) }
}

/** A browser without a login. */
export const browser = (url: string): Pick<PanelUser, 'get' | 'post' | 'submit' | 'cookie'> =>
  userWithBrowser(url, { id: 0, email: '', password: '' })

export function userWithBrowser(url: string, person: Pick<PanelUser, 'id' | 'email' | 'password'>): PanelUser {
  const cookies = new Map<string, string>()
  const cookie = () => [...cookies].map((pair) => pair.join('=')).join('; ')

  async function call(method: string, path: string, fields?: FormFields, headers: Record<string, string> = {}) {
    const body = fields && new URLSearchParams(pairsOf(fields))
    const sent = { cookie: cookie(), ...(body && { 'sec-fetch-site': 'same-origin' }), ...headers }
    const response = await fetch(url + path, { method, headers: sent, redirect: 'manual', ...(body && { body }) })
    for (const one of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? []
      cookies.set(name, value)
    }
    const { status } = response
    return { status, headers: response.headers, html: await response.text(), to: response.headers.get('location') }
  }

  const post: PanelUser['post'] = (path, fields, headers) => call('POST', path, fields, headers)
  return {
    ...person,
    get: (path) => call('GET', path),
    post,
    async submit(page, fields, action = page) {
      const { html } = await call('GET', page)
      return post(action, { ...hiddenFields(html, action), ...fields })
    },
    cookie,
    logIn: (password = person.password) => post('/painel/entrar', { email: person.email, password }),
  }
}

const pairsOf = (fields: FormFields): string[][] =>
  Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => [name, one]))

/** Hidden fields of the form with this `action`. */
export function hiddenFields(html: string, action: string): Record<string, string> {
  const start = html.indexOf(`<form method="post" action="${action}"`)
  if (start < 0) throw new Error(`the page has no form that is sent to ${action}`)
  const form = html.slice(start, html.indexOf('</form>', start))
  const hidden = form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
  return Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, unescaped(value)]))
}

const unescaped = (text: string): string =>
  text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

/** Visible text of a page, without tags; blanks are collapsed. */
export const textIn = (html: string): string =>
  unescaped(
    html
      .replace(/<(script|style)[\s\S]*?<\/\1>/g, ' ')
      // Marks of figures are within words: `5 UN, R$ 3,00`.
      .replace(/<span data-figure=[^>]+>([^<]*)<\/span>/g, '$1')
      .replace(/<[^>]+>/g, ' '),
  )
    .replaceAll('\u00A0', ' ')
    .replace(/\s+/g, ' ')

/** Error messages of a page, beside the fields and above them. */
export const problemsIn = (html: string): string[] =>
  [...html.matchAll(/<p class="(?:error|problem)"[^>]*>([^<]*)</g)].map(([, message = '']) => unescaped(message))
