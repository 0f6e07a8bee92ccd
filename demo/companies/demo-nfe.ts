import { computeKeyDigit } from '#domain/fiscal-values.ts'
import { addDays } from '#domain/instant.ts'
import { bareTaxNumber } from '#domain/person-values.ts'
import { escapeHtml } from '#lib/escaping.ts'
import { writeFileAtomically } from '#lib/files.ts'

/** A line of a made NF-e, in texts of the layout. */
export interface NfeXmlLine {
  readonly cProd: string
  readonly xProd: string
  readonly cEAN?: string
  readonly cEANTrib?: string
  readonly uCom?: string
  readonly qCom: string
  readonly uTrib?: string
  readonly qTrib?: string
  readonly vUnCom?: string
  readonly vProd: string
  readonly vDesc?: string
  readonly vFrete?: string
  readonly vSeg?: string
  readonly vOutro?: string
  readonly vIPI?: string
  readonly vICMSST?: string
}

export interface NfeXmlOptions {
  readonly buyer: string
  readonly lines: readonly NfeXmlLine[]
  /** Due day (none: null) and amount of each instalment. */
  readonly bills?: readonly (readonly [due: string | null, amount: string])[]
  readonly seller?: string
  readonly number?: number
  readonly issuedOn?: string
  readonly cStat?: string
  readonly model?: string
  readonly version?: string
  readonly test?: boolean
}

const SELLER = '11444777000161'

const element = (name: string, text: string | undefined): string =>
  text === undefined ? '' : `<${name}>${escapeHtml(text)}</${name}>`

function lineXml(line: NfeXmlLine, at: number): string {
  const { cProd, xProd, cEAN = 'SEM GTIN', cEANTrib = cEAN, uCom = 'UN', qCom, vProd, vUnCom = vProd } = line
  const { uTrib = uCom, qTrib = qCom, vFrete, vSeg, vDesc, vOutro, vIPI, vICMSST } = line
  const product = Object.entries({
    ...{ cProd, cEAN, xProd, NCM: '21069090', CFOP: '5405', uCom, qCom, vUnCom, vProd },
    ...{ cEANTrib, uTrib, qTrib, vUnTrib: vUnCom, vFrete, vSeg, vDesc, vOutro, indTot: '1' },
  })
  const icms = `<ICMS><ICMS10><orig>0</orig><CST>10</CST>${element('vICMSST', vICMSST)}</ICMS10></ICMS>`
  const ipi =
    vIPI === undefined ? '' : `<IPI><cEnq>999</cEnq><IPITrib><CST>50</CST>${element('vIPI', vIPI)}</IPITrib></IPI>`
  const prod = product.map(([name, text]) => element(name, text)).join('')
  return `<det nItem="${at + 1}"><prod>${prod}</prod><imposto>${icms}${ipi}</imposto></det>`
}

/** XML of an authorized NF-e of a made-up supplier, with a valid access key and without a signature. */
export function createNfeXml(options: NfeXmlOptions): { readonly xml: string; readonly accessKey: string } {
  const { buyer, lines, bills = [], seller = SELLER, number = 1234, issuedOn = '2026-01-10' } = options
  const { cStat = '100', model = '55', version = '4.00', test = false } = options
  const issued = `${issuedOn.slice(2, 4)}${issuedOn.slice(5, 7)}`
  const begin = `35${issued}${seller}${model}001${String(number).padStart(9, '0')}100001234`
  const accessKey = begin + computeKeyDigit(begin)
  const ide = `<ide><cUF>35</cUF><mod>${model}</mod><serie>1</serie><nNF>${number}</nNF><dhEmi>${issuedOn}T09:30:00-03:00</dhEmi><tpNF>1</tpNF><tpAmb>${test ? 2 : 1}</tpAmb></ide>`
  const emit = `<emit><CNPJ>${seller}</CNPJ><xNome>Atacado São Jorge &amp; Filhos Ltda</xNome><xFant>Atacado São Jorge</xFant></emit>`
  const dest = `<dest><CNPJ>${bareTaxNumber(buyer)}</CNPJ><xNome>Loja</xNome></dest>`
  const dups = bills.map(
    ([due, amount], at) =>
      `<dup><nDup>${String(at + 1).padStart(3, '0')}</nDup>${due === null ? '' : element('dVenc', due)}${element('vDup', amount)}</dup>`,
  )
  const cobr = dups.length === 0 ? '' : `<cobr>${dups.join('')}</cobr>`
  const note = `<infNFe versao="${version}" Id="NFe${accessKey}">${ide}${emit}${dest}${lines.map(lineXml).join('')}${cobr}</infNFe>`
  const proof = `<protNFe versao="${version}"><infProt><tpAmb>1</tpAmb><chNFe>${accessKey}</chNFe><nProt>135260000000001</nProt><cStat>${cStat}</cStat></infProt></protNFe>`
  const space = 'xmlns="http://www.portalfiscal.inf.br/nfe"'
  const xml = `<?xml version="1.0" encoding="UTF-8"?><nfeProc ${space} versao="${version}"><NFe ${space}>${note}</NFe>${proof}</nfeProc>`
  return { xml, accessKey }
}

/** Goods for the first demonstration company: known by GTIN, boxes to be converted, and one that is new. */
export const writeDemoNfe = (path: string, buyer: string, today: string): Promise<void> =>
  writeFileAtomically(
    path,
    createNfeXml({
      buyer,
      issuedOn: addDays(today, -1),
      lines: [
        {
          cProd: '1001',
          xProd: 'CAFE TORRADO MOIDO 500G',
          cEAN: '7890000010078',
          qCom: '20.0000',
          vProd: '240.00',
          vICMSST: '8.40',
        },
        {
          ...{ cProd: '2040', xProd: 'GUARANA PET 2L CX C/6', cEANTrib: '7890000010498', uCom: 'CX', qCom: '8.0000' },
          ...{ uTrib: 'UN', qTrib: '48.0000', vProd: '297.60', vFrete: '12.00', vIPI: '4.80' },
        },
        { cProd: '3300', xProd: 'BISCOITO AGUA E SAL 400G', qCom: '24.0000', vProd: '103.20', vDesc: '7.20' },
      ],
      bills: [
        [addDays(today, 27), '329.40'],
        [addDays(today, 57), '329.40'],
      ],
    }).xml,
  )
