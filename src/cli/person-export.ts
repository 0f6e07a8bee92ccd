import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as z from 'zod'
import { refuse } from '#domain/refusal.ts'
import { type ExportWriter, htmlWriter, jsonWriter } from '#panel/data-export/document.ts'
import { type ExportedPerson, type ExportPart, exportPersonData } from '#privacy/data-export.ts'
import { companyIdFrom, Refused, type Verbs, validateInput } from './verb.ts'

const WHO = 'deve ser customer/9, supplier/3, user/4 ou order/5'

const Flags = z.object({
  subject: z
    .string()
    .regex(/^(customer|supplier|user|order)\/[1-9]\d{0,15}$/, WHO)
    .transform((text): ExportedPerson => {
      const [kind, id] = text.split('/')
      return { kind: kind as ExportedPerson['kind'], id: Number(id) }
    }),
})

export const verbs: Verbs<'person export'> = {
  'person export': {
    async run(context, { company, subject, to = '.' }) {
      const person = validateInput(Flags, { subject }).subject
      const { core, companyId } = await companyIdFrom(context, company)
      const pieces = await exportPersonData(core, companyId, person, new Date().toISOString())
      if (!pieces) throw new Refused(refuse('not_found', { subject }))
      const folder = resolve(to)
      await mkdir(folder, { recursive: true })
      const path = join(folder, `${person.kind}-${person.id}`)
      await writeAll(pieces, { [`${path}.json`]: jsonWriter(), [`${path}.html`]: htmlWriter() })
      return { json: `${path}.json`, html: `${path}.html` }
    },
  },
}

/** Writes each chunk to all files, with mode 0600, and renames them when complete. */
async function writeAll(
  pieces: AsyncIterable<ExportPart>,
  writers: Readonly<Record<string, ExportWriter>>,
): Promise<void> {
  const files = await Promise.all(
    Object.entries(writers).map(async ([path, write]) => {
      const draft = `${path}.draft`
      await rm(draft, { force: true })
      return { path, draft, write, file: await open(draft, 'wx', 0o600) }
    }),
  )
  try {
    for await (const piece of pieces) for (const { file, write } of files) await file.writeFile(write(piece))
    for (const { path, draft, file } of files) {
      await file.sync()
      await rename(draft, path)
    }
  } finally {
    for (const { draft, file } of files) {
      await file.close()
      await rm(draft, { force: true })
    }
  }
}
