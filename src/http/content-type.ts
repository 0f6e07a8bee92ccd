import type { IncomingMessage } from 'node:http'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Spellings of UTF-8 that clients send. */
const UTF_8 = /^utf[-_]?8$/i

const mediaTypeOf = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase()

/** Values of all charset parameters, without quotes; other parameters have no meaning here. */
function charsetsOf(type: string): string[] {
  return type.split(';').flatMap((parameter) => {
    const [name = '', ...value] = parameter.split('=')
    if (name.trim().toLowerCase() !== 'charset') return []
    return value
      .join('=')
      .trim()
      .replace(/^["']|["']$/g, '')
  })
}

const isUtf8Named = (type: string): boolean => charsetsOf(type).every((charset) => UTF_8.test(charset))

/** Whether a Content-Type is JSON in UTF-8, however the charset is spelt. */
export const isJsonType = (type: string): boolean => mediaTypeOf(type) === 'application/json' && isUtf8Named(type)

/** Drops the charset of a form in UTF-8: body-parser knows one spelling only. */
export function dropFormCharset({ headers }: IncomingMessage): void {
  const type = headers['content-type'] ?? ''
  if (mediaTypeOf(type) === FORM_TYPE && isUtf8Named(type)) headers['content-type'] = FORM_TYPE
}
