import { expect } from 'chai'
import fc from 'fast-check'
import { type AdjustedRoles, toRolePermissions } from '#domain/rights.ts'
import { mayOpen } from '#panel/page-context.ts'
import type { PanelRoute } from '#panel/panel-route.ts'
import { PANEL_ROUTES } from '#panel/routes.ts'
import { addressOf } from '../browser/samples/all.ts'
import { usePanel } from '../support/browser.ts'
import { explore, TITLE } from '../support/random.ts'
import { fieldsIn, type Pairs, pageText, written } from './pages.ts'
import { encoded, oddName, printed } from './values.ts'
import { makesSecret, secretsOf, standing, type Visited, type Visitor, visit, visitorsOf } from './visitors.ts'

/** Small, because there are many routes, pages are slow, and every kind of visitor requests them. */
const CASES = 3

/** Changes, removes or repeats one field, or adds others. */
const spoilt: fc.Arbitrary<(pairs: Pairs) => Pairs> = fc
  .tuple(
    fc.nat({ max: 20 }),
    fc.constantFrom('replace', 'replace', 'replace', 'remove', 'again', 'other'),
    fc.oneof(oddName, pageText),
    pageText,
  )
  .map(([place, act, name, value]) => (pairs) => {
    const at = place % Math.max(1, pairs.length)
    const [own = name] = pairs[at] ?? []
    const rest = pairs.filter((_, n) => n !== at)
    if (act === 'remove') return rest
    if (act === 'replace') return [...rest, [own, value]]
    return [...pairs, [act === 'again' ? own : name, value]]
  })

/** Leaves most bodies unchanged, and breaks the encoding of some. */
const garbled: fc.Arbitrary<(text: string) => string> = fc.oneof(
  { weight: 8, arbitrary: fc.constant((text: string) => text) },
  { weight: 1, arbitrary: pageText.map((odd) => (text: string) => `${text}&${printed(odd)}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('%', '&&&', '=', '[]=1&a[b]=2', `${'a&'.repeat(1_500)}`).map((odd) => () => odd),
  },
)

const pathPart: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: pageText.map((text) => encoded(text.slice(0, 1_000))) },
  { weight: 1, arbitrary: fc.constantFrom('%', '%zz', '%ff', '%2f', '%00', '..', '.', '%2e%2e', ';a=b', '') },
)

/** Address with one fault in path, query, or both. */
const addresses = fc
  .tuple(spoilt, garbled, fc.option(fc.tuple(fc.nat({ max: 4 }), pathPart), { freq: 3 }))
  .map(([spoil, garble, part]) => (address: string, query: Pairs) => {
    const parts = address.split('/')
    if (part) parts[2 + (part[0] % Math.max(1, parts.length - 2))] = part[1]
    return `${parts.join('/')}?${garble(written(spoil(query))).slice(0, 8_000)}`
  })

/** Whether a redirect leads to the start page, which every role has, or above it. */
const isForAll = (path: string): boolean => /^\/(painel\/?)?$/.test(new URL(path, 'http://panel').pathname)

/** Whether the query contains U+0000, which no text of a record contains. */
const hasNull = (path: string): boolean => {
  const named = new Map([...new URLSearchParams(path.split('?').slice(1).join('?'))].reverse())
  named.delete('feito')
  return [...named.values()].some((value) => value.includes('\0'))
}

describe(`hostile requests to the panel (${TITLE})`, function () {
  this.timeout(0)
  const logged: unknown[] = []
  const panel = usePanel({ log: (message, error) => logged.push(message, error) })
  const addressesOf = new Map<PanelRoute, string>()
  let visitors: readonly Visitor[]
  let secrets: readonly string[]

  // Before any attack, because a hostile form may change records and users that other cases need.
  before(async () => {
    for (const route of PANEL_ROUTES) addressesOf.set(route, await addressOf(panel, route.path))
    visitors = await visitorsOf(panel)
    secrets = await secretsOf(panel, visitors)
  })

  const addressFor = (route: PanelRoute): string => addressesOf.get(route) ?? ''
  const now = () => standing(panel.api.core.pool)

  /** Whether clerks may open a route by now: a form of the owner may have adjusted their role. */
  async function mayClerksOpen(route: PanelRoute): Promise<boolean> {
    const { rows } = await panel.api.core.pool.query<{ roles: AdjustedRoles }>(
      'select roles from companies where company_id = $1',
      [panel.company.id],
    )
    return mayOpen(toRolePermissions('clerk', rows[0]?.roles), route)
  }

  /** Sends a request as a visitor; failures show the request. */
  async function ask(visitor: Visitor, asked: Visited, judge?: (status: number) => unknown) {
    try {
      const reply = await visit(panel.api.url, visitor, asked, secrets)
      await judge?.(reply.status)
      return reply
    } catch (error) {
      const { path, form = '' } = asked
      throw new Error(`${(error as Error).message}\nas ${visitor.is}: ${path}\n${form.slice(0, 2_000)}`)
    }
  }

  /** The page at an address, requested regularly. */
  const shown = async (path: string) => (await ask(visitors[0] as Visitor, { path })).text

  async function look(route: PanelRoute, property: number): Promise<void> {
    const address = addressFor(route)
    const query = fieldsIn(await shown(address))
    const [before, isOpenToClerks] = [await now(), await mayClerksOpen(route)]
    const looks = fc.asyncProperty(addresses, async (twist) => {
      const path = twist(address, query)
      for (const visitor of visitors)
        await ask(visitor, { path }, (status) => {
          if (visitor.is === 'nobody') expect(status).to.equal(303)
          else if (hasNull(path)) expect(status).to.be.within(400, 499)
          if (visitor.is === 'clerk' && !isOpenToClerks && !isForAll(path)) expect(status).to.be.within(400, 499)
        })
    })
    await explore(looks, CASES, property)
    expect(await now()).to.equal(before)
  }

  async function submit(route: PanelRoute, property: number): Promise<void> {
    const path = addressFor(route)
    const above = route.path.split('/').length > 2 ? path.slice(0, path.lastIndexOf('/')) : path
    const pages = (await ask(visitors[0] as Visitor, { path })).text + (await shown(above))
    const own = fieldsIn(pages).filter(([name]) => name !== '_csrf' && name !== '_key')
    const submits = fc.asyncProperty(spoilt, garbled, fc.uuid(), async (spoil, garble, _key) => {
      for (const visitor of visitors) {
        const mayNot = visitor.is === 'nobody' || (visitor.is === 'clerk' && !(await mayClerksOpen(route)))
        const form = garble(written(spoil([['_csrf', visitor.csrf], ['_key', _key], ...own])))
        const before = await now()
        const { status } = await ask(visitor, { path, form, isTold: makesSecret(route) }, async (status) => {
          // Redirects to the login, which preserves the input of a valid form (PANEL-105).
          if (visitor.is === 'nobody' && status === 303) expect(await now()).to.equal(before)
          else if (mayNot) expect(status).to.be.within(400, 499)
          if (mayNot || status >= 400) expect(await now(), `${status}, and`).to.equal(before)
        })
        if (mayNot || status >= 400) continue
        const after = await now()
        await ask(visitor, { path, form }, async (again) => {
          expect(again, 'sent again').to.equal(status)
          expect(await now(), 'sent again').to.equal(after)
        })
      }
    })
    await explore(submits, CASES, property)
  }

  // First, so that later pages show the leftovers.
  for (const [place, route] of PANEL_ROUTES.entries()) {
    if ('submit' in route) it(`get a response from POST ${route.path}`, () => submit(route, 2_000 + place))
  }
  for (const [place, route] of PANEL_ROUTES.entries()) {
    if ('show' in route) it(`get a response from GET ${route.path}`, () => look(route, 3_000 + place))
  }

  it('get a response from the login', async () => {
    const nobody = visitors[2] as Visitor
    const fields: Pairs = [
      ['email', panel.owner.email],
      ['password', 'não é esta'],
      ['para', '/painel/vendas'],
    ]
    const enters = fc.asyncProperty(spoilt, garbled, async (spoil, garble) => {
      const form = garble(written(spoil(fields)))
      await ask(nobody, { path: `/painel/entrar?${form.slice(0, 8_000)}` }, (status) => expect(status).to.equal(200))
      await ask(nobody, { path: '/painel/entrar', form }, (status) => expect(status).to.be.within(400, 499))
      await ask(nobody, { path: '/painel/sair', form })
    })
    await explore(enters, CASES, 4_000)
  })

  it('cause no fault, and the panel still responds', async () => {
    expect(logged).to.deep.equal([])
    for (const visitor of visitors.slice(0, 2))
      await ask(visitor, { path: '/painel' }, (status) => expect(status).to.equal(200))
    // The company's own key may have been revoked.
    const { key } = await panel.company.newKey(['audit:read'])
    const verified = await panel.company.call('GET', '/events/verify', undefined, { authorization: `Bearer ${key}` })
    expect(verified.body.data).to.include({ valid: true })
  })
})
