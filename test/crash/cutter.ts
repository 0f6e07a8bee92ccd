import { connect, createServer, type Socket } from 'node:net'

/**
 * Fate of a connection once it has carried a piece of a request. `cut`: closed before the piece gets through. `lose`:
 * the server processes the request, its answer is lost. `half`: only half of the first piece of the answer arrives.
 */
export type Fate = 'pass' | 'cut' | 'lose' | 'half'

/** A TCP proxy that breaks connections. */
export interface Cutter {
  readonly port: number
  /** Decides for every piece that a client sends; passes everything by default. */
  fateOf: (piece: Buffer) => Fate
  /** Drops all bytes in both directions without closing, like an unplugged cable. Ends with `cutAll`. */
  isSilent: boolean
  /** Breaks all connections at once, in both directions. */
  cutAll(): void
  /** Number of broken connections. */
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
    /** The client receives nothing more; the server still gets and processes everything that was sent. */
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
