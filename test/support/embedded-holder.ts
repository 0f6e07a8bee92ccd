import pg from 'pg'
import { startEmbedded } from '#postgres/embedded.ts'

/**
 * A process that holds an embedded Postgres as a service would: `embedded-holder.mjs <data directory>`. Prints one JSON
 * line when it has it; on SIGINT or SIGTERM it proves that the server still answers, stops, and says so.
 */
const lines: string[] = []
const server = await startEmbedded({
  dataDir: process.argv[2] ?? '',
  log: (line) => void lines.push(line),
  settings: { fsync: 'off' },
})

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query('select 1')
    await client.end()
    await server.stop()
    console.log(JSON.stringify({ stopped: true }))
  })
}

console.log(JSON.stringify({ url: server.url, adopted: lines.join().includes('adopted') }))
