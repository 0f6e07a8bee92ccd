import { create } from 'qrcode/lib/core/qrcode.js'

const QUIET = 4
/** Four dots of a thermal printer, which scanners read from paper. */
const MODULE_MM = 0.5

/** A QR code as one path, sharp at any size. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { size, data } = create(text, { errorCorrectionLevel: text.length > 300 ? 'L' : 'M' }).modules
  let path = ''
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++)
      if (data[row * size + column]) path += `M${column + QUIET} ${row + QUIET}h1v1h-1z`
  const side = size + 2 * QUIET
  return (
    <svg
      class="qr"
      width={`${side * MODULE_MM}mm`}
      viewBox={`0 0 ${side} ${side}`}
      role="img"
      aria-label={label}
      data-code={text}
      shape-rendering="crispEdges"
    >
      <path fill="#fff" d={`M0 0h${side}v${side}H0z`} />
      <path fill="#000" d={path} />
    </svg>
  )
}
