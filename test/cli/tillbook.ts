import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { programOf, UNDURABLE } from '../support/program.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The command line in a process of its own, as an operator calls it. */
export async function tillbook(env: Readonly<Record<string, string>>, ...words: string[]): Promise<Ended> {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, programOf('src/cli/main.ts', ...words), {
    cwd: ROOT,
    env: { PATH, HOME, ...UNDURABLE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}
