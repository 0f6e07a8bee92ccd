import type { ReferencePage } from '#api/docs/guide-pages.tsx'
import { documentedSettings } from '#config/config.ts'

const HEADER = `# Settings

Settings are environment variables, read once at the start; the command line reads the same. An empty value counts as absent.
A wrong value is named on standard error without its text, and the process exits with 2.
`

/** Every setting with its default, format and meaning. */
export function settingsReference(): ReferencePage {
  const sections = documentedSettings().map(([section, settings]) => {
    const rows = settings.map(
      ({ name, default: shown, format, about }) =>
        `| \`${name}\` | ${shown === undefined ? '–' : `\`${shown}\``} | ${about}. Format: ${format} |\n`,
    )
    return `## ${section}\n\n| Setting | Default | Meaning |\n|---|---|---|\n${rows.join('')}`
  })
  return { path: '/docs/settings', lang: 'en', text: () => [HEADER, ...sections].join('\n') }
}
