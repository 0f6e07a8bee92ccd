import { readFileSync, statSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'

/** Where certificate (with its chain) and key are, as PEM. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** How often it is looked whether the files are others: certificates are renewed while the service runs. */
const LOOK_MS = 60_000

export const readTls = ({ certFile, keyFile }: TlsFiles): SecureContextOptions => ({
  cert: readFileSync(certFile),
  key: readFileSync(keyFile),
  minVersion: 'TLSv1.2',
})

/** Takes the files anew when they have changed; what cannot be used leaves those in force that are. Returns what ends it. */
export function renewTls(
  server: { setSecureContext(options: SecureContextOptions): void },
  files: TlsFiles,
  onError: (error: unknown) => void,
  look_ms = LOOK_MS,
): () => void {
  const stamp = () => [files.certFile, files.keyFile].map((file) => statSync(file).mtimeMs).join()
  let seen = stamp()
  const look = () => {
    try {
      const now = stamp()
      if (now === seen) return
      server.setSecureContext(readTls(files))
      seen = now
    } catch (error) {
      onError(error)
    }
  }
  const timer = setInterval(look, look_ms)
  timer.unref()
  return () => clearInterval(timer)
}
