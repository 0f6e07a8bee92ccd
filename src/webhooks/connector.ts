import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { isPublicAddress, literalAddress } from './target.ts'

/** The target is, or turned out to be, in a private or local network. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress'
}

/** All addresses of a name, IPv4 and IPv6. */
export type Resolve = (hostname: string) => Promise<string[]>

type Connector = ReturnType<typeof buildConnector>

const DNS_TIMEOUT_MS = 2_000
const DNS_TRIES = 2

/** Opens connections to any address that the system resolves a name to, this machine and private networks included. */
export function createConnector(timeout_ms: number): Connector {
  return buildConnector({ timeout: timeout_ms, autoSelectFamily: true })
}

/**
 * Opens connections to public addresses only. What is checked is what is connected to: literal addresses, each address
 * that a name resolves to within the very lookup of the connection, and in the end the peer of the socket, so that a
 * name that resolves differently the next time gains nothing.
 */
export function createPublicConnector(timeout_ms: number, resolve: Resolve = createResolve()): Connector {
  const connect = buildConnector({ timeout: timeout_ms, autoSelectFamily: true, lookup: publicLookup(resolve) })
  return (options, callback) => {
    const literal = literalAddress(options.hostname)
    if (literal !== null && !isPublicAddress(literal)) {
      // Not before this call has returned: nobody expects an answer that early.
      queueMicrotask(() => callback(new PrivateAddress(), null))
      return
    }
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null)
      if (isPublicAddress(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(new PrivateAddress(), null)
    })
  }
}

/** @throws PrivateAddress when a name has addresses, but none that is public. */
function publicLookup(resolve: Resolve): LookupFunction {
  const lookUp = async (hostname: string) => {
    const addresses = (await resolve(hostname)).filter(isPublicAddress)
    const [first] = addresses
    if (first === undefined) throw new PrivateAddress()
    return { first, addresses }
  }
  return (hostname, { all }, callback) => {
    lookUp(hostname).then(
      ({ first, addresses }) => {
        if (all)
          callback(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          )
        else callback(null, first, isIP(first))
      },
      (error) => callback(error, ''),
    )
  }
}

/**
 * Asks the name servers directly: the system's own function would hold one of the few threads of the process for as long
 * as a dead name server takes, and with them passwords and files.
 */
function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    // Most names have no IPv6 address, which is answered with an error.
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
    return [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }
}
