declare module 'qrcode/lib/core/qrcode.js' {
  export function create(
    text: string,
    options: { errorCorrectionLevel: 'L' | 'M' },
  ): { modules: { size: number; data: Uint8Array } }
}
