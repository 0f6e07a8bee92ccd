import { expect } from 'chai'
import fc from 'fast-check'
import { v7 as uuidv7 } from 'uuid'
import type { PanelRoute } from '../../src/http/panel/route.ts'
import { PANEL_ROUTES } from '../../src/http/panel/routes.ts'
import { addressOf } from '../browser/samples/all.ts'
import { usePanel } from '../support/browser.ts'
import { hiddenFields, type PanelUser, panelUser } from '../support/panel.ts'
import { bytesOf, exchange } from '../support/wire.ts'
import { expectAnswered } from './answers.ts'
import { fuzzing, RUNS, TITLE } from './settings.ts'
import { encoded, oddName, oddText, printed } from './values.ts'

/** There are many routes, and pages take longer than records. */
const CASES = Math.ceil(RUNS / 2)

/** What a browser sends of a form, in its order. */
type Pairs = readonly (readonly [name: string, value: string])[]

const written = (pairs: Pairs): string => pairs.map((pair) => pair.map(encoded).join('=')).join('&')

/** Fields of a page's forms with what they hold, as far as texts tell it. */
const fieldsIn = (html: string): Pairs =>
  [...html.matchAll(/<(?:input|select|textarea)\b[^>]*\bname="([^"]+)"[^>]*>/g)].map(([tag, name = '']) => [
    name,
    /\bvalue="([^"]*)"/.exec(tag)?.[1] ?? '1',
  ])

/** One field has another value, is missing, is there once more, or there are others. */
const spoilt: fc.Arbitrary<(pairs: Pairs) => Pairs> = fc
  .tuple(
    fc.nat({ max: 20 }),
    fc.constantFrom('replace', 'replace', 'replace', 'remove', 'again', 'other'),
    oddName,
    oddText,
  )
  .map(([place, act, name, value]) => (pairs) => {
    const at = place % Math.max(1, pairs.length)
    const [own = name] = pairs[at] ?? []
    const rest = pairs.filter((_, n) => n !== at)
    if (act === 'remove') return rest
    if (act === 'replace') return [...rest, [own, value]]
    return [...pairs, [act === 'again' ? own : name, value]]
  })

const garbled: fc.Arbitrary<(text: string) => string> = fc.oneof(
  { weight: 8, arbitrary: fc.constant((text: string) => text) },
  { weight: 1, arbitrary: oddText.map((odd) => (text: string) => `${text}&${printed(odd)}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('%', '&&&', '=', '[]=1&a[b]=2', `${'a&'.repeat(1_500)}`).map((odd) => () => odd),
  },
)

describe(`hostile visitors of the panel (${TITLE})`, function () {
  this.timeout(0)
  const logged: unknown[] = []
  const panel = usePanel({ log: (message, error) => logged.push(message, error) })
  const addressesOf = new Map<PanelRoute, string>()
  let user: PanelUser

  // Before anything is spoilt: what a hostile form does to a record or to a person is not to be in the way of others.
  before(async () => {
    for (const route of PANEL_ROUTES) addressesOf.set(route, await addressOf(panel, route.path))
    user = await panelUser(panel.api, panel.company)
  })

  const addressFor = (route: PanelRoute): string => addressesOf.get(route) ?? ''

  const ask = async (method: string, path: string, body?: string) => {
    const headers = [
      ['Cookie', user.cookie()],
      ['Sec-Fetch-Site', 'same-origin'],
      ...(body === undefined ? [] : [['Content-Type', 'application/x-www-form-urlencoded'] as const]),
    ] as const
    const reply = await exchange(panel.api.url, bytesOf({ method, path, headers, body }))
    try {
      expectAnswered(path, reply)
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${method} ${path}\n${body?.slice(0, 2_000) ?? ''}`)
    }
    return reply
  }

  /** A path, a query, or both, that are right but for one place. */
  const addresses = fc
    .tuple(spoilt, garbled, fc.option(fc.tuple(fc.nat({ max: 4 }), oddText), { freq: 3 }))
    .map(([spoil, garble, part]) => (address: string, query: Pairs) => {
      const parts = address.split('/')
      if (part) parts[2 + (part[0] % Math.max(1, parts.length - 2))] = encoded(part[1].slice(0, 1_000))
      return `${parts.join('/')}?${garble(written(spoil(query))).slice(0, 8_000)}`
    })

  async function visit(route: PanelRoute, property: number): Promise<void> {
    const address = addressFor(route)
    const query = fieldsIn((await user.get(address)).html)
    await fc.assert(
      fc.asyncProperty(addresses, async (twist) => void (await ask('GET', twist(address, query)))),
      fuzzing(property, CASES),
    )
  }

  async function submit(route: PanelRoute, property: number): Promise<void> {
    const address = addressFor(route)
    const page = route.path.split('/').length > 2 ? address.slice(0, address.lastIndexOf('/')) : address
    const form = fieldsIn((await user.get(address)).html + (await user.get(page)).html)
    await fc.assert(
      fc.asyncProperty(spoilt, garbled, async (spoil, garble) => {
        let account = (await user.get('/painel/conta')).html
        // Some forms end the session that they are sent in.
        if (!account.includes('/painel/sair')) {
          user = await panelUser(panel.api, panel.company)
          account = (await user.get('/painel/conta')).html
        }
        const { _csrf = '' } = hiddenFields(account, '/painel/sair')
        const own: Pairs = [...form.filter(([name]) => !name.startsWith('_')), ['_key', uuidv7()]]
        await ask('POST', address, `_csrf=${_csrf}&${garble(written(spoil(own)))}`)
      }),
      fuzzing(property, CASES),
    )
  }

  for (const [place, route] of PANEL_ROUTES.entries()) {
    if ('show' in route) it(`are answered by GET ${route.path}`, () => visit(route, 2_000 + place))
  }
  for (const [place, route] of PANEL_ROUTES.entries()) {
    if ('submit' in route) it(`are answered by POST ${route.path}`, () => submit(route, 2_000 + place))
  }

  it('and nothing of it was a fault, and the panel still answers', async () => {
    expect(logged).to.deep.equal([])
    user = await panelUser(panel.api, panel.company)
    expect((await user.get('/painel')).status).to.equal(200)
  })
})
