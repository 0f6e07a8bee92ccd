import { expect } from 'chai'
import fc from 'fast-check'
import type { Reply } from '../support/api.ts'
import { expectAnswered } from './answers.ts'
import { encoded, oddText } from './values.ts'

/** Part of every text that attempts an injection. */
const FORGED = 'forjado'

/** Texts that become markup, scripts or addresses if a page fails to escape them. */
const MARKUP = [
  `<${FORGED}>`,
  `"><${FORGED} x="`,
  `'><${FORGED} x='`,
  `" autofocus ${FORGED}="1`,
  `</textarea></title></script><${FORGED}>`,
  `--><script>${FORGED}()</script><!--`,
  `<img src=x onerror=${FORGED}()>`,
  `javascript:${FORGED}()`,
  `data:text/html,<${FORGED}>`,
  `\u00a0java\nscript:${FORGED}()`,
  `&lt;${FORGED}&gt;&#60;${FORGED}&#62;`,
  `]]><${FORGED}/>`,
  `<${FORGED}\u0000>`,
] as const

/** Form input that pages show. */
export const pageText: fc.Arbitrary<string> = fc.oneof(
  { weight: 1, arbitrary: oddText },
  { weight: 1, arbitrary: fc.constantFrom(...MARKUP) },
)

/** Fields of a form or query, in order. */
export type Pairs = readonly (readonly [name: string, value: string])[]

export const written = (pairs: Pairs): string => pairs.map((pair) => pair.map(encoded).join('=')).join('&')

/** Fields of a page's forms with their values, as far as the markup shows them. */
export const fieldsIn = (html: string): Pairs =>
  [...html.matchAll(/<(?:input|select|textarea)\b[^>]*\bname="([^"]+)"[^>]*>/g)].map(([tag, name = '']) => [
    name,
    /\bvalue="([^"]*)"/.exec(tag)?.[1] ?? '1',
  ])

/** Address other than a page of the panel, another site or an anchor, which could execute something. */
const ODD_ADDRESS = /\s(?:href|src|action|formaction|hx-get|hx-post|sse-connect)="\s*(?!\/(?!\/)|#|https?:\/\/)/i

/** Password hashes, tokens of tills and sessions, keys, and webhook secrets. */
const SECRET = /\$argon2|\btb_(?:panel|sync|live|test|invite|password)_[\w-]{20}|\bwhsec_[\w+/=]{20}/

/** Asserts that a response is a page or a redirect of the panel, for any request. */
export function expectPage(path: string, reply: Reply): void {
  expectAnswered(path, reply)
  const { status, headers, text } = reply
  const title = `${path.slice(0, 200)} answered ${status} ${text.slice(0, 300)}`
  expect(headers.get('content-security-policy'), title)
    .to.match(/^default-src 'none'; script-src 'self'; style-src 'self'; /)
    .and.not.include('unsafe')
  expect(headers.get('cache-control'), title).to.equal('no-store')
  if (status >= 300 && status < 400) {
    expect(status, title).to.equal(303)
    expect(headers.get('location'), title).to.match(/^\/painel(?=[/?]|$)[\x21-\x7e]*$/)
    return
  }
  expect(headers.get('content-type'), title).to.equal('text/html; charset=utf-8')
  expect(text, title).to.match(/^<!doctype html>.*<\/html>$/s)
  expectEscaped(text, title)
}

/**
 * Quotes and `<` are escaped in all texts, so text between quotes is an attribute value, and the rest between `<` and
 * `>` is
 * a tag that the page itself made.
 */
function expectEscaped(html: string, title: string): void {
  expect(html, title).to.not.include('\0')
  expect(ODD_ADDRESS.exec(html)?.[0], title).to.equal(undefined)
  const tags = html.replace(/="[^"]*"/g, '=""').match(/<[^>]*>?/g) ?? []
  expect(tags.filter(isForged), title).to.deep.equal([])
}

const OWN_TAG = /^<(?:!doctype html|\/?[a-z][a-z0-9]*(?:\s[a-z][a-z0-9-]*(?:="")?)*\s*\/?)>$/i
const DOING = /\s(?:on|hx-on|style)[\w:-]*=/i

/** Whether a tag is not one of the page's own: pages contain no inline scripts or styles. */
const isForged = (tag: string): boolean =>
  tag.toLowerCase().includes(FORGED) ||
  !OWN_TAG.test(tag) ||
  DOING.test(tag) ||
  (/^<script/i.test(tag) && !tag.includes('src='))

/** Asserts that a response contains no known secret, and nothing that looks like one. */
export function expectNoSecret(path: string, { text, headers }: Reply, known: readonly string[]): void {
  const told = `${text}\n${[...headers].join('\n')}`
  expect(SECRET.exec(told)?.[0], path).to.equal(undefined)
  for (const secret of known) expect(told.includes(secret), `${path} tells ${secret}`).to.equal(false)
}
