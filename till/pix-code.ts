/** Who is paid by a Pix. */
export interface PixReceiver {
  readonly key: string
  readonly name: string
  readonly city: string
}

const field = (id: string, value: string): string => `${id}${String(value.length).padStart(2, '0')}${value}`

/** Text as banks take it: no accents, no control characters, at most so many characters. */
const plain = (text: string, length: number): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^\x20-\x7e]/g, ' ')
    .slice(0, length)
    .trim()

/** CRC-16/CCITT-FALSE in four hex digits. */
export function crc16(text: string): string {
  let crc = 0xffff
  for (let at = 0; at < text.length; at++) {
    crc ^= text.charCodeAt(at) << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff
  }
  return crc.toString(16).toUpperCase().padStart(4, '0')
}

/** Static BR Code with amount (cents) and txid (up to 25 letters and digits). */
export function pixCode({ key, name, city }: PixReceiver, cents: number, txid: string): string {
  const account = field('00', 'br.gov.bcb.pix') + field('01', key.slice(0, 77))
  const body = [
    field('00', '01'),
    field('26', account),
    field('52', '0000'),
    field('53', '986'),
    cents > 0 ? field('54', (cents / 100).toFixed(2)) : '',
    field('58', 'BR'),
    field('59', plain(name, 25) || 'LOJA'),
    field('60', plain(city, 15) || 'BRASIL'),
    field('62', field('05', txid.replace(/[^0-9A-Za-z]/g, '').slice(0, 25) || '***')),
    '6304',
  ].join('')
  return body + crc16(body)
}
