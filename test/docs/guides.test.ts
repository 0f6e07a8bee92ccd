import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { createElement } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { GuideMarkdown, guidePage } from '#api/docs/docs-guides.tsx'
import { GUIDES, readGuide, withSnippets } from '#api/docs/guides.tsx'

const fencesOf = (text: string) => [...text.matchAll(/^```[\s\S]*?^```$/gm)].map(([fence]) => fence)
const withoutFences = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, '')
const levelsOf = (text: string) => [...withoutFences(text).matchAll(/^(#+) /gm)].map(([, marks = '']) => marks.length)
const rowsOf = (text: string) => withoutFences(text).match(/^\|.*\|$/gm) ?? []
/** Names of fields, codes and paths that both languages share. */
const namesOf = (text: string) =>
  new Set([...withoutFences(text).matchAll(/`([A-Za-z]+(?:[_.-][A-Za-z]+)+)`/g)].map(([, name = '']) => name))
const paragraphsOf = (text: string) =>
  withoutFences(text)
    .split(/\n{2,}/)
    .filter((block) => /^[^#|<\s]/.test(block))

describe('guides in Portuguese', () => {
  for (const { name, title } of GUIDES) {
    const english = readFileSync(`docs/${name}.md`, 'utf8')
    const written = readFileSync(`docs/guias/${name}.md`, 'utf8')
    const portuguese = readGuide(name, 'pt-BR')

    it(`${name} has the very snippets of the English one, and none of its own [HTTP-52]`, () => {
      expect(fencesOf(english)).to.have.length.above(4)
      expect(fencesOf(portuguese)).to.deep.equal(fencesOf(english))
      expect(written).to.not.include('```')
    })

    it(`${name} is whole: the same headings, tables, paragraphs and names [HTTP-52]`, () => {
      expect(levelsOf(portuguese)).to.deep.equal(levelsOf(english))
      expect(rowsOf(portuguese)).to.have.length(rowsOf(english).length)
      expect(paragraphsOf(portuguese)).to.have.length(paragraphsOf(english).length)
      expect([...namesOf(portuguese)]).to.have.members([...namesOf(english)])
      expect(portuguese).to.match(new RegExp(`^# ${title}$`, 'm'))
    })

    it(`${name} shows every heading and snippet on its page, in both languages [HTTP-52]`, () => {
      for (const [language, text] of [
        ['pt-BR', portuguese],
        ['en', english],
      ] as const) {
        const page = guidePage(name, language)
        expect(page).to.match(new RegExp(`^<!doctype html>\\n<html lang="${language}">`))
        expect(page.match(/<h[23] id=/g)).to.have.length(levelsOf(text).length - 1)
        const shown = [...page.matchAll(/<pre tabindex="0"><code>([\s\S]*?)<\/code><\/pre>/g)].map(
          ([, code = '']) => code,
        )
        const wanted = fencesOf(text).map((fence) => fence.replace(/^```.*\n|```$/g, ''))
        expect(shown).to.deep.equal(wanted.map(escaped))
        expect(withoutCode(page)).to.not.match(/```|\*\*|\]\(|<!-- /)
      }
    })
  }

  it('refuses a place without a snippet [HTTP-52]', () => {
    const english = '# A\n\n## One\n\n```sh\nfirst\n```\n'
    expect(withSnippets('<!-- snippet: One -->\n', english)).to.equal('```sh\nfirst\n```\n')
    for (const text of ['<!-- snippet: Two -->', '<!-- snippet: One -->\n<!-- snippet: One -->'])
      expect(() => withSnippets(text, english)).to.throw('no further snippet')
  })
})

const escaped = (code: string): string =>
  code.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const withoutCode = (page: string): string => page.replace(/<code>[\s\S]*?<\/code>/g, '')

describe('Markdown of guides', () => {
  const rendered = (text: string) =>
    renderToString(
      createElement(GuideMarkdown, { text, linkTo: (target: string) => (target === 'no.md' ? null : target) }),
    )

  it('leaves the title and comments out, and gives headings their anchors [HTTP-52]', () => {
    expect(rendered('# T\n\n<!-- a -->\n## Olá, `x`\n')).to.equal(
      '<div><h2 id="olá-x">Olá, <code>x</code></h2>\n</div>',
    )
  })

  it('makes code reachable by keyboard [HTTP-52]', () => {
    expect(rendered('```sh\na\n\nb <c>\n```\n')).to.include('<pre tabindex="0"><code>a\n\nb &lt;c&gt;\n</code></pre>')
  })

  it('renders links, and names the files that it cannot link [HTTP-52]', () => {
    expect(rendered('a [b `c`](d#e) [f](no.md) *g*')).to.include(
      '<p>a <a href="d#e">b <code>c</code></a> f (<code>no.md</code>) <em>g</em></p>',
    )
  })

  it('shows HTML as text and makes no link of a script [HTTP-52]', () => {
    expect(rendered('<b title="x">& [a](javascript:b)')).to.include(
      '<p>&lt;b title=&quot;x&quot;&gt;&amp; [a](javascript:b)</p>',
    )
  })
})
