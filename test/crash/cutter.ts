import { connect, createServer, type Socket } from 'node:net'

/**
 * What becomes of a connection once it has carried a piece of a request: nothing; it is cut before the piece gets through;
 * its answer is lost, though the server has done everything; only half of the answer's first piece arrives.
 */
export type Fate = 'pass' | 'cut' | 'lose' | 'half'

/** A TCP proxy that breaks connections. */
export interface Cutter {
  readonly port: number
  /** Decides for every piece that a client sends; lets everything pass at first. */
  fateOf: (piece: Buffer) => Fate
  /** Nothing gets through in either direction, and nobody is told: as where a cable is cut. It ends with `cutAll`. */
  isSilent: boolean
  /** Breaks all connections at once, in both directions. */
  cutAll(): void
  /** How many connections were broken so far. */
  cuts(): number
  close(): Promise<void>
}

/** Listens on a free port and forwards to `host`:`port`. */
export async function startCutter(host: string, port: number): Promise<Cutter> {
  const links = new Set<() => void>()
  let cuts = 0

  function join(client: Socket): void {
    const upstream = connect(port, host)
    let fate: Fate = 'pass'
    const leave = () => {
      links.delete(cut)
      client.destroy()
    }
    const cut = () => {
      cuts += 1
      leave()
      upstream.destroy()
    }
    /** The client hears nothing any more; the server gets, and does, everything that was sent. */
    const lose = () => {
      cuts += 1
      leave()
      upstream.end().resume()
    }
    links.add(cut)
    client.on('data', (piece) => {
      if (cutter.isSilent) return
      if (fate === 'pass') fate = cutter.fateOf(piece as Buffer)
      if (fate === 'cut') cut()
      else upstream.write(piece)
    })
    upstream.on('data', (piece) => {
      if (client.destroyed || cutter.isSilent) return
      if (fate === 'pass') client.write(piece)
      else if (fate === 'half') client.write((piece as Buffer).subarray(0, piece.length >> 1), lose)
      else lose()
    })
    client.on('error', () => {}).on('close', () => upstream.end())
    upstream.on('error', () => {}).on('close', leave)
  }

  const server = createServer(join)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('the proxy has no port')
  const cutter: Cutter = {
    port: address.port,
    fateOf: () => 'pass',
    isSilent: false,
    cutAll() {
      for (const cut of [...links]) cut()
    },
    cuts: () => cuts,
    async close() {
      for (const cut of [...links]) cut()
      await new Promise((done) => server.close(done))
    },
  }
  return cutter
}
