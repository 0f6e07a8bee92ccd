import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Browser } from 'playwright-core'

/** The headless shell has no windows and uses a seventh less processor time. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome.exe',
]

/** Installation paths of Chrome on systems that do not add it to the PATH. */
const USUAL_PLACES = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ...[process.env.PROGRAMFILES, process.env['PROGRAMFILES(X86)'], process.env.LOCALAPPDATA]
    .filter((folder) => folder !== undefined)
    .map((folder) => join(folder, 'Google', 'Chrome', 'Application', 'chrome.exe')),
]

/** One-line instructions for a missing browser. */
export const HOW_TO_GET_ONE =
  'no Chromium or Chrome was found; install one (Debian: apt-get install chromium-headless-shell) or set CHROMIUM_PATH to its program'

/**
 * Path of Chromium or Chrome on this machine, or null. CHROMIUM_PATH has priority and must exist: there is no fallback
 * to another browser.
 */
export function findChromium(env: Readonly<Record<string, string | undefined>> = process.env): string | null {
  const asked = env.CHROMIUM_PATH
  if (asked) {
    if (!canRun(asked)) throw new Error(`CHROMIUM_PATH is ${asked}, which cannot be run`)
    return asked
  }
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const onPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [...onPath, ...USUAL_PLACES].find(canRun) ?? null
}

function canRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

let running: Promise<Browser> | undefined

/** The process's only browser: started on first use; Playwright closes it when the process exits. */
export function sharedBrowser(): Promise<Browser> {
  running ??= launch()
  return running
}

async function launch(): Promise<Browser> {
  const executablePath = findChromium()
  if (!executablePath) throw new Error(HOW_TO_GET_ONE)
  // Only here: most runs of single files need no browser.
  const { chromium } = await import('playwright-core')
  return chromium.launch({
    executablePath,
    // Chromium refuses its sandbox for root, the user of most containers.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      // Resolves no host names: no request leaves this machine.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      // Text renders the same on every machine with the same fonts.
      '--font-render-hinting=none',
      '--disable-lcd-text',
      // Most CI machines have none, and emulating one takes as long as the pages.
      '--disable-gpu',
      '--disable-software-rasterizer',
    ],
  })
}
