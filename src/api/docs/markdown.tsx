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
