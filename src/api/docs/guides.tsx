import { readFileSync } from 'node:fs'
import { projectFile } from '#http/assets.ts'

/**
 * The Markdown subset of the contract's texts: paragraphs and lists separated by blank lines, `code` and **bold**.
 * Other markup stays literal.
 */
export const Markdown = ({ text }: { readonly text: string }) => <>{text.split(/\n{2,}/).map(block)}</>

function block(text: string) {
  const lines = text.split('\n')
  if (!lines.every((line) => line.startsWith('- ')))
    return (
      <p key={text}>
        <MarkdownLine text={lines.join(' ')} />
      </p>
    )
  return (
    <ul key={text}>
      {lines.map((line) => (
        <li key={line}>
          <MarkdownLine text={line.slice(2)} />
        </li>
      ))}
    </ul>
  )
}

/** A single line, without blocks. */
export const MarkdownLine = ({ text }: { readonly text: string }) => (
  <>
    {text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map((part) => {
      if (part.startsWith('`')) return <code key={part}>{part.slice(1, -1)}</code>
      if (part.startsWith('**')) return <strong key={part}>{part.slice(2, -2)}</strong>
      return part
    })}
  </>
)

export const Code = ({ text }: { readonly text: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <pre tabIndex={0}>
    <code>{text}</code>
  </pre>
)

/** A guide for integrators: `docs/{name}.md` in English, `docs/guias/{name}.md` in Portuguese. */
interface Guide {
  readonly name: string
  readonly title: string
  readonly about: string
  readonly englishTitle: string
}

export const GUIDES: readonly Guide[] = [
  {
    name: 'integrators',
    title: 'Guia do integrador',
    about: 'chaves, sincronização, vendas, contas, erros e limites',
    englishTitle: 'Guide for integrators',
  },
  {
    name: 'agents',
    title: 'Guia dos agentes',
    about: 'assistentes por MCP: chave, conexão, ensaio e limites',
    englishTitle: 'Guide for agents',
  },
  {
    name: 'webhooks',
    title: 'Guia de webhooks',
    about: 'registrar, receber, conferir a assinatura e recuperar o que faltou',
    englishTitle: 'Guide for receivers of webhooks',
  },
  {
    name: 'pos-sync',
    title: 'Guia dos caixas',
    about: 'caixas que também vendem sem conexão: login, download, envio e conflitos',
    englishTitle: 'Guide for tills',
  },
  {
    name: 'online-store',
    title: 'Guia da loja online',
    about: 'pedidos, pagamentos, estornos e notificações do provedor',
    englishTitle: 'Guide for online stores',
  },
]

/** For shops and about Brazilian law: `docs/guias/{name}.md` alone, with its own snippets. */
export const PORTUGUESE_GUIDES: readonly Omit<Guide, 'englishTitle'>[] = [
  {
    name: 'nfce',
    title: 'De uma venda a uma NFC-e',
    about: 'de onde sai cada campo do documento fiscal',
  },
  {
    name: 'caixa',
    title: 'Guia do caixa',
    about: 'vender, trocar e fechar a gaveta no aplicativo /caixa',
  },
]

/** Whether a guide has no English text. */
export const isPortugueseOnly = (name: string): boolean => PORTUGUESE_GUIDES.some((guide) => guide.name === name)

export type GuideLanguage = 'pt-BR' | 'en'

/** Names of the guides in a language. */
export const guidesIn = (language: GuideLanguage): readonly string[] =>
  (language === 'en' ? GUIDES : [...GUIDES, ...PORTUGUESE_GUIDES]).map(({ name }) => name)

/** Markdown of a guide. The Portuguese one has the snippets of the English one. */
export function readGuide(name: string, language: GuideLanguage): string {
  if (isPortugueseOnly(name)) return readFileSync(projectFile(`docs/guias/${name}.md`), 'utf8')
  const english = readFileSync(projectFile(`docs/${name}.md`), 'utf8')
  if (language === 'en') return english
  return withSnippets(readFileSync(projectFile(`docs/guias/${name}.md`), 'utf8'), english)
}

/** A place for the next snippet of a section of the English guide: `<!-- snippet: First sync -->`. */
const PLACE = /^<!-- snippet: (.+) -->$/gm

/** Puts the fenced blocks of the English guide into their places. @throws Error if a section has no further one */
export function withSnippets(text: string, english: string): string {
  const left = snippetsBySection(english)
  return text.replace(PLACE, (_, section: string) => {
    const snippet = left.get(section)?.shift()
    if (!snippet) throw new Error(`guide: section "${section}" of the English guide has no further snippet`)
    return snippet
  })
}

/** Fenced blocks with their fences, by heading. */
function snippetsBySection(page: string): Map<string, string[]> {
  const sections = new Map<string, string[]>()
  let snippets: string[] = []
  for (const [block, heading] of page.matchAll(/^#+ (.+)$|^```[\s\S]*?^```$/gm)) {
    if (heading === undefined) snippets.push(block)
    else {
      snippets = sections.get(heading) ?? []
      sections.set(heading, snippets)
    }
  }
  return sections
}
