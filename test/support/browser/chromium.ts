import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Browser } from 'playwright-core'

/** The headless shell has no windows to make, and needs a seventh less of the processor. */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
  'chrome.exe',
]

/** Where Chrome is installed on systems that do not put it on the PATH. */
const USUAL_PLACES = [
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ...[process.env.PROGRAMFILES, process.env['PROGRAMFILES(X86)'], process.env.LOCALAPPDATA]
    .filter((folder) => folder !== undefined)
    .map((folder) => join(folder, 'Google', 'Chrome', 'Application', 'chrome.exe')),
]

/** What to do where there is none, in one line. */
export const HOW_TO_GET_ONE =
  'no Chromium or Chrome was found; install one (Debian: apt-get install chromium-headless-shell) or set CHROMIUM_PATH to its program'

/**
 * The program of a Chromium or Chrome on this machine, or null. CHROMIUM_PATH goes before all others, and has to be right:
 * a browser other than the one that was asked for would be a surprise.
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

/** The one browser of a process: the first who needs it starts it, and Playwright ends it when the process exits. */
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
    // Chromium refuses to sandbox for root, which is who runs in most containers.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      // Whatever a page asks for, no name is looked up and nothing leaves this machine.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      // Letters look the same on every machine that has the same fonts.
      '--font-render-hinting=none',
      '--disable-lcd-text',
      // There is none on most machines of CI, and imitating one takes as much time as the pages.
      '--disable-gpu',
      '--disable-software-rasterizer',
    ],
  })
}
