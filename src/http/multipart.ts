/** A form of `multipart/form-data` (RFC 7578). */
export interface MultipartForm {
  /** Last value of each field, by name. */
  readonly fields: Readonly<Record<string, string>>
  /** Content of the last file, of any field. */
  readonly file: Buffer | null
}

/** Our forms have a few fields and one file. */
const MAX_PARTS = 20
const MAX_HEADER_BYTES = 2_048
const BOUNDARY = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i
const NAME = /(?:^|;)\s*name="([^"]*)"/i
const DISPOSITION = /^content-disposition:\s*form-data\s*;(.*)$/im

/** Parses a complete form; null if it is malformed or has too many parts. The file is a slice of `body`, not a copy. */
export function readMultipart(body: Buffer, contentType: string): MultipartForm | null {
  const [, inQuotes, bare] = BOUNDARY.exec(contentType) ?? []
  const boundary = inQuotes ?? bare
  if (boundary === undefined) return null
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  if (!body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))) return null
  const fields = new Map<string, string>()
  let file: Buffer | null = null
  let at = delimiter.length - 2
  for (let parts = 0; ; parts++) {
    const ending = body.toString('latin1', at, at + 2)
    if (ending === '--') return { fields: Object.fromEntries(fields), file }
    const [begin, end] = [at + 2, body.indexOf('\r\n\r\n', at)]
    if (ending !== '\r\n' || end < 0 || end - begin > MAX_HEADER_BYTES || parts === MAX_PARTS) return null
    const [, disposition = ''] = DISPOSITION.exec(body.toString('utf8', begin, end)) ?? []
    const [, name] = NAME.exec(disposition) ?? []
    at = body.indexOf(delimiter, end + 2)
    if (name === undefined || at < 0) return null
    const content = body.subarray(Math.min(end + 4, at), at)
    if (/;\s*filename\*?=/i.test(disposition)) file = content
    else fields.set(name, content.toString())
    at += delimiter.length
  }
}
