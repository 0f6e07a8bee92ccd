import { expect } from 'chai'
import { PixKey } from '#domain/person-values.ts'

describe('key of a Pix', () => {
  const KEYS: Readonly<Record<string, string>> = {
    '529.982.247-25': '52998224725',
    '11.222.333/0001-81': '11222333000181',
    '12.abc.345/01de-35': '12ABC34501DE35',
    '(11) 98765-4321': '+5511987654321',
    '11987654321': '+5511987654321',
    '+55 11 3333-4444': '+551133334444',
    '5511987654321': '+5511987654321',
    ' Loja@Exemplo.com.br ': 'loja@exemplo.com.br',
    '123E4567-e89b-12d3-a456-426655440000': '123e4567-e89b-12d3-a456-426655440000',
  }
  for (const [typed, key] of Object.entries(KEYS))
    it(`takes ${typed.trim()} as the directory has it [SYNC-1165]`, () => {
      expect(PixKey.parse(typed)).to.equal(key)
      expect(PixKey.parse(key)).to.equal(key)
    })

  it('refuses what is of no kind, and long texts [SYNC-1165]', () => {
    const wrong = ['', 'loja', '529.982.247-24', '+1 555 123 4567', '(11) 1234', 'a@b', '123e4567-e89b', '00000000000']
    const long = [`${'a'.repeat(70)}@exemplo.com`, '1'.repeat(20_000), `+${' '.repeat(20_000)}`]
    for (const typed of [...wrong, ...long, 5, {}])
      expect(PixKey.safeParse(typed).success, String(typed)).to.equal(false)
  })
})
