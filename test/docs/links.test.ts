import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'chai'

const PAGES = [
  ...readdirSync('.').filter((file) => file.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => join('docs', file)),
  ...['clients/typescript', 'examples', 'deploy'].map((folder) => `${folder}/README.md`),
]

/** Anchor that renderers generate for a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/`|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

function anchorsOf(page: string): string[] {
  const text = readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```/gm, '')
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) => anchorOf(heading))
}

/** Links of a page to other files and headings of this repository. */
function linksOf(page: string): string[] {
  const text = readFileSync(page, 'utf8').replace(/^```[\s\S]*?^```|`[^`\n]*`/gm, '')
  return Array.from(text.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target).filter(
    (target) => !/^(?:https?|mailto):/.test(target),
  )
}

function isBroken(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : join(dirname(page), path)
  if (!existsSync(target)) return true
  return anchor !== undefined && !anchorsOf(target).includes(anchor)
}

describe('links of the documentation', () => {
  for (const page of PAGES) {
    it(`${page} links to files and headings that exist`, () => {
      expect(linksOf(page).filter((link) => isBroken(page, link))).to.deep.equal([])
    })
  }
})
