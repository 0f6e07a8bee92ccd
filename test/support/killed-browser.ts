import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Page } from 'playwright-core'
import { findChromium, HOW_TO_GET_ONE } from './browser/chromium.ts'

/** A browser with a profile on the disk, which is killed and started again. */
export interface KilledBrowser {
  page(): Page
  /** `kill -9`, and a new process on the same profile. */
  kill(): Promise<void>
  /** The profile as it is now, as a power cut would leave it. */
  snapshot(): string
  /** `kill -9`, and a new process on the profile of that moment. */
  restore(snapshot: string): Promise<void>
  /** `kill -9`, and a new process on an empty profile. */
  wipe(): Promise<void>
  close(): Promise<void>
}

export async function openKilledBrowser(): Promise<KilledBrowser> {
  const folder = mkdtempSync(join(tmpdir(), 'till-profile-'))
  const profile = join(folder, 'profile')
  let running = await launch(profile)
  const end = async () => {
    const gone = once(running.child, 'exit')
    // The whole group: a process of the browser that is left over would hold the profile.
    process.kill(-(running.child.pid ?? 0), 'SIGKILL')
    await gone
  }
  const remove = (path: string) => rmSync(path, { recursive: true, force: true, maxRetries: 3 })
  let snapshots = 0
  const startOn = async (snapshot: string | null) => {
    await end()
    if (snapshot !== '') remove(profile)
    if (snapshot) cpSync(snapshot, profile, { recursive: true })
    running = await launch(profile)
  }
  return {
    page: () => running.page,
    kill: () => startOn(''),
    snapshot() {
      snapshots += 1
      const copy = join(folder, `copy-${snapshots}`)
      const isKept = (source: string) => !/Singleton|DevToolsActivePort|[/]Code Cache|GPUCache/.test(source)
      cpSync(profile, copy, { recursive: true, filter: isKept })
      return copy
    },
    restore: startOn,
    wipe: () => startOn(null),
    async close() {
      await end()
      remove(folder)
    },
  }
}

async function launch(profile: string): Promise<{ child: ChildProcess; page: Page }> {
  const program = findChromium()
  if (!program) throw new Error(HOW_TO_GET_ONE)
  const { chromium } = await import('playwright-core')
  const child = spawn(
    program,
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  )
  for await (const line of createInterface({ input: child.stderr })) {
    const [, address] = /DevTools listening on (ws:\S+)/.exec(line) ?? []
    if (address === undefined) continue
    const browser = await chromium.connectOverCDP(address)
    const [context] = browser.contexts()
    if (!context) break
    context.setDefaultTimeout(30_000)
    return { child, page: context.pages()[0] ?? (await context.newPage()) }
  }
  throw new Error('Chromium ended before it could be used')
}
