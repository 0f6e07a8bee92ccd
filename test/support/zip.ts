import { text } from 'node:stream/consumers'
import yauzl from 'yauzl'

/** Files of a ZIP as text, by name, in order. */
export function filesIn(zip: Buffer): Promise<Map<string, string>> {
  return new Promise((resolve, reject) => {
    yauzl.fromBuffer(zip, { lazyEntries: true }, (failed, file) => {
      if (failed) return reject(failed)
      const files = new Map<string, string>()
      file.on('entry', (entry: yauzl.Entry) =>
        file.openReadStream(entry, (error, stream) => {
          if (error) return reject(error)
          text(stream).then((read) => {
            files.set(entry.fileName, read)
            file.readEntry()
          }, reject)
        }),
      )
      file.on('error', reject).on('end', () => resolve(files))
      file.readEntry()
    })
  })
}
