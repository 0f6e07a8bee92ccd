import { buffer } from 'node:stream/consumers'
import yauzl from 'yauzl'

/** Files of a ZIP by name, in order. */
export function entriesIn(zip: Buffer): Promise<Map<string, Buffer>> {
  return new Promise((resolve, reject) => {
    yauzl.fromBuffer(zip, { lazyEntries: true }, (failed, file) => {
      if (failed) return reject(failed)
      const files = new Map<string, Buffer>()
      file.on('entry', (entry: yauzl.Entry) =>
        file.openReadStream(entry, (error, stream) => {
          if (error) return reject(error)
          buffer(stream).then((read) => {
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

/** The same as text. */
export const filesIn = async (zip: Buffer): Promise<Map<string, string>> =>
  new Map(Array.from(await entriesIn(zip), ([name, content]) => [name, content.toString()]))
