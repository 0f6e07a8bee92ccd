import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '#lib/replace-file.ts'

const access = z.object({
  id: z.number(),
  name: z.string(),
  /** With every scope. */
  api_key: z.string(),
  read_only_key: z.string(),
  user: z.object({ email: z.string(), password: z.string() }),
  /** What signs its notifications; null where there is no store, as in files of before there were any. */
  store: z.object({ alias: z.string(), notification_secret: z.string() }).nullable(),
})

const file = z.object({ base_url: z.string(), companies: z.array(access) })

/** How to get into one of the demonstration companies. */
export type DemoAccess = z.infer<typeof access>

/** demo.json: the only place that knows these keys and passwords (DESIGN section 3, Running it). */
export type DemoFile = z.infer<typeof file>

/** The file's content; null when there is none, or what is there is something else. */
export async function readDemoFile(path: string): Promise<DemoFile | null> {
  try {
    return file.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

/** Writes the file, and its folder where there is none. */
export async function writeDemoFile(path: string, content: DemoFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await replaceFile(path, `${JSON.stringify(content, null, 2)}\n`)
}
