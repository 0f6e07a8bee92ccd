import type { ComponentChildren } from 'preact'
import { Code } from './markdown.tsx'

/** Maps the target of a link; null if the page has no such place, which then shows the text alone. */
export type LinkTarget = (target: string) => string | null

interface Heading {
  readonly level: number
  readonly text: string
  readonly anchor: string
}

/** Anchor of a heading, as renderers of Markdown make it. */
const anchorOfHeading = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/`|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** The headings of a guide below its title. */
export const headingsOf = (text: string): Heading[] =>
  blocksOf(text).flatMap((block) => {
    const [, marks = '', heading = ''] = /^(##+) (.+)$/.exec(block) ?? []
    return marks ? [{ level: marks.length, text: heading, anchor: anchorOfHeading(heading) }] : []
  })

/** The Markdown of guides: headings, paragraphs, lists, tables, fenced code, links, code, bold and italics. */
export const GuideMarkdown = ({ text, linkTo }: { readonly text: string; readonly linkTo: LinkTarget }) => (
  <>{blocksOf(text).map((block) => blockOf(block, linkTo))}</>
)

/** Blocks are separated by blank lines, except within fences. */
const blocksOf = (text: string): string[] =>
  (text.replace(/<!--[\s\S]*?-->\n?/g, '').match(/^```[\s\S]*?^```$|^(?:(?!```).+\n?)+/gm) ?? []).map((block) =>
    block.trimEnd(),
  )

function blockOf(block: string, linkTo: LinkTarget) {
  if (block.startsWith('```')) return <Code text={block.replace(/^```.*\n|```$/g, '')} />
  const [, marks, heading = ''] = /^(#+) (.+)$/.exec(block) ?? []
  if (marks === '#') return null
  if (marks) return <HeadingLine level={marks.length} text={heading} linkTo={linkTo} />
  if (block.startsWith('|')) return <Table rows={block.split('\n').map(cellsOf)} linkTo={linkTo} />
  if (/^- /.test(block)) {
    const items = block.split(/^- /m).slice(1)
    return (
      <ul>
        {items.map((item) => (
          <li key={item}>
            <Inline text={joined(item)} linkTo={linkTo} />
          </li>
        ))}
      </ul>
    )
  }
  return (
    <p>
      <Inline text={joined(block)} linkTo={linkTo} />
    </p>
  )
}

const joined = (text: string): string => text.trim().replace(/\n\s*/g, ' ')

/** The title of the page is its h1. */
function HeadingLine({
  level,
  text,
  linkTo,
}: {
  readonly level: number
  readonly text: string
  readonly linkTo: LinkTarget
}) {
  const Level = level === 2 ? 'h2' : 'h3'
  return (
    <Level id={anchorOfHeading(text)}>
      <Inline text={text} linkTo={linkTo} />
    </Level>
  )
}

const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'))

function Table({ rows, linkTo }: { readonly rows: readonly (readonly string[])[]; readonly linkTo: LinkTarget }) {
  const [head = [], , ...lines] = rows
  return (
    <table>
      <thead>
        <tr>
          {head.map((cell) => (
            <th key={cell}>
              <Inline text={cell} linkTo={linkTo} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {lines.map((cells) => (
          <tr key={cells.join('|')}>
            {cells.map((cell, column) => (
              <td key={head[column]}>
                <Inline text={cell} linkTo={linkTo} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const PARTS = /(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[(?:[^[\]]|`[^`]*`)+\]\([^)\s]+\))/

function Inline({ text, linkTo }: { readonly text: string; readonly linkTo: LinkTarget }): ComponentChildren {
  return text.split(PARTS).map((part, position) => (position % 2 === 0 ? part : inlineOf(part, linkTo)))
}

function inlineOf(part: string, linkTo: LinkTarget): ComponentChildren {
  if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>
  if (part.startsWith('**'))
    return (
      <strong>
        <Inline text={part.slice(2, -2)} linkTo={linkTo} />
      </strong>
    )
  if (part.startsWith('*')) return <em>{part.slice(1, -1)}</em>
  const [, text = '', target = ''] = /^\[(.*)\]\((.*)\)$/.exec(part) ?? []
  const address = linkTo(target)
  if (address === null)
    return (
      <>
        <Inline text={text} linkTo={linkTo} /> (<code>{target.replace(/^(?:\.\.\/)+/, '')}</code>)
      </>
    )
  return (
    <a href={address}>
      <Inline text={text} linkTo={linkTo} />
    </a>
  )
}
