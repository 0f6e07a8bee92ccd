import pg from 'pg'
import { DataDirInUse, startEmbedded } from '#postgres/embedded.ts'

/**
 * A process that holds an embedded Postgres like a service or a command: `embedded-holder.ts <data directory> <kind>`.
 * Prints one JSON line when it has the server or is refused; on SIGINT or SIGTERM it checks that the server still
 * answers, stops, and reports it.
 */
const [dataDir = '', kind] = process.argv.slice(2)
const starting = startEmbedded({ dataDir, kind: kind === 'command' ? kind : 'service', settings: { fsync: 'off' } })
const server = await starting.catch((error) => {
  if (!(error instanceof DataDirInUse)) throw error
  console.log(JSON.stringify({ refused: error.message }))
  process.exit(1)
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    const client = new pg.Client({ connectionString: server.ownerUrl })
    await client.connect()
    await client.query('select 1')
    await client.end()
    await server.stop()
    console.log(JSON.stringify({ stopped: true }))
    process.exit()
  })
}

// A command that uses the server of another process would end at once.
setInterval(() => {}, 60_000)
console.log(JSON.stringify({ url: server.ownerUrl }))
