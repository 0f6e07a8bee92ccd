import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { migrate } from '#postgres/migrate.ts'
import { ensureServiceRole } from '#postgres/service-role.ts'
import { startSystemPostgres } from './test/ops/system-postgres.ts'
import { administer, onDatabase } from './test/support/server.ts'

const run = promisify(execFile)
const server = await startSystemPostgres()
if (typeof server === 'string') throw new Error(server)
try {
  await administer(server.url, (c) => ensureServiceRole(c, 'tillbook_service', 'x'))
  for (const [name, folder] of [
    ['old', '/tmp/h6/old-migrations'],
    ['new', undefined],
  ] as const) {
    await administer(server.url, (c) => c.query(`create database ${name}`))
    const url = onDatabase(server.url, name)
    await migrate(url, { ...(folder && { folder }), service: 'tillbook_service', log: () => {} })
    const { stdout } = await run(join(server.programs, 'pg_dump'), ['--schema-only', '--dbname', url], {
      maxBuffer: 1e8,
    })
    await writeFile(`/tmp/h6/${name}.sql`, stdout)
    const data = await run(
      join(server.programs, 'pg_dump'),
      ['--data-only', '--inserts', '--exclude-table=ops.migrations', '--dbname', url],
      { maxBuffer: 1e8 },
    )
    await writeFile(`/tmp/h6/${name}.data.sql`, data.stdout)
  }
} finally {
  await server.stop()
}
