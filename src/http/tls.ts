import { readFileSync, statSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'

/** Paths of certificate (with its chain) and key, as PEM. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Interval between checks for changed files: certificates are renewed while the service runs. */
const LOOK_MS = 60_000

export const readTls = ({ certFile, keyFile }: TlsFiles): SecureContextOptions => ({
  cert: readFileSync(certFile),
  key: readFileSync(keyFile),
  minVersion: 'TLSv1.2',
})

/**
 * Reloads changed files; unusable ones leave the current certificate in force. Returns a function that ends the checks.
 */
export function renewTls(
  server: { setSecureContext(options: SecureContextOptions): void },
  files: TlsFiles,
  onError: (error: unknown) => void,
  look_ms = LOOK_MS,
): () => void {
  const readModificationTimes = () => [files.certFile, files.keyFile].map((file) => statSync(file).mtimeMs).join()
  let seen = readModificationTimes()
  const reloadIfChanged = () => {
    try {
      const now = readModificationTimes()
      if (now === seen) return
      server.setSecureContext(readTls(files))
      seen = now
    } catch (error) {
      onError(error)
    }
  }
  const timer = setInterval(reloadIfChanged, look_ms)
  timer.unref()
  return () => clearInterval(timer)
}
