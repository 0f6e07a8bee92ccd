// What the page does: takes a receipt, shows what its verification says. Nothing that is not proved is shown as a sale.

import { readGiven, verifyReceipt } from './verify.js'

/** @typedef {import('./verify.js').Verdict} Verdict @typedef {import('./verify.js').Event} Event */
/** @typedef {Extract<Verdict, { outcome: 'proved' }>} Proved @typedef {HTMLElement | string} Part */

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id))

/** @type {import('./verify.js').Trusted} */
const trusted = JSON.parse(byId('chaves').textContent ?? '')

/** The hash of the event that a printed code names; null where it holds the receipt itself. @type {string | null} */
let wanted = null

const MONEY = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' })
const QUANTITY = new Intl.NumberFormat('pt-BR', { maximumFractionDigits: 3 })
const MOMENT = new Intl.DateTimeFormat('pt-BR', { dateStyle: 'short', timeStyle: 'medium' })

/** @param {string} amount a decimal, which Intl takes as it is */
const money = (amount) => MONEY.format(/** @type {any} */ (amount))
/** @param {string} amount */
const quantity = (amount) => QUANTITY.format(/** @type {any} */ (amount))
/** @param {string} at */
const moment = (at) => MOMENT.format(new Date(at))

/**
 * @param {string} name
 * @param {...Part} parts
 */
function element(name, ...parts) {
  const made = document.createElement(name)
  made.append(...parts)
  return made
}

/**
 * @param {'good' | 'bad' | 'warn'} tone
 * @param {string} title
 * @param {...Part} parts
 */
function show(tone, title, ...parts) {
  const result = byId('resultado')
  result.className = `card result ${tone}`
  result.replaceChildren(element('h2', title), ...parts)
  result.hidden = false
  result.focus()
}

/** @param {readonly string[]} lines */
const list = (lines) => element('ul', ...lines.map((line) => element('li', line)))

/** @param {readonly (readonly [string, string])[]} entries */
const facts = (entries) =>
  element('dl', ...entries.map(([name, value]) => element('div', element('dt', name), element('dd', value))))

/**
 * @param {string} caption
 * @param {readonly string[]} heads
 * @param {readonly (readonly string[])[]} rows
 */
const table = (caption, heads, rows) =>
  element(
    'table',
    element('caption', caption),
    element('thead', element('tr', ...heads.map((head) => element('th', head)))),
    element('tbody', ...rows.map((row) => element('tr', ...row.map((cell) => element('td', cell))))),
  )

/** Of the versions that this page knows; of later ones it shows the event alone. @param {Event} event @returns {Part[]} */
function saleOf({ type, version, data, recorded_at }) {
  if (version !== 1) return []
  const amounts = [
    ['Subtotal', data.subtotal],
    ['Desconto', data.discount],
    ['Entrega', data.delivery_fee],
    ['Total', data.total],
    ['Troco', data.change],
  ].flatMap(([name, amount]) => (amount === undefined ? [] : [/** @type {const} */ ([name, money(amount)])]))
  return [
    facts([
      ['Venda', `${data.id}${data.external_id ? ` (${data.external_id})` : ''}`],
      ['Vendida em', moment(data.sold_at)],
      ['Registrada em', moment(recorded_at)],
      ...(type === 'OfflineSaleCancelled' ? [/** @type {const} */ (['Situação', 'cancelada no caixa'])] : []),
      ['Cliente', data.customer ? 'identificado; os dados não são mostrados' : 'não identificado'],
    ]),
    table(
      'Itens',
      ['Item', 'Preço', 'Total'],
      data.items.map((/** @type {any} */ item) => [
        item.description,
        `${quantity(item.quantity)} × ${money(item.unit_price)}`,
        money(item.total),
      ]),
    ),
    table(
      'Pagamentos',
      ['Forma', 'Valor'],
      data.payments.map((/** @type {any} */ payment) => [payment.name, money(payment.amount)]),
    ),
    facts(amounts),
  ]
}

/** An account, or a payment of one. @param {Event} event @returns {Part[]} */
function accountOf({ type, version, data, recorded_at }) {
  if (version !== 1) return []
  const isPayment = type === 'ReceivablePaymentReceived'
  return [
    facts([
      ['Conta', isPayment ? String(data.id) : data.description],
      [isPayment ? 'Abateu' : 'Valor', money(data.amount)],
      isPayment ? ['Paga em', moment(data.paid_at)] : ['Vencimento', data.due_date.split('-').reverse().join('/')],
      ['Registrada em', moment(recorded_at)],
    ]),
  ]
}

/** @param {Proved} verdict */
function wordsOfKey({ key }) {
  const until = key.until ? ` Ela foi trocada em ${moment(key.until)} e só vale para recibos anteriores.` : ''
  const succession = key.isSigned
    ? ''
    : ' Atenção: uma chave anterior foi perdida e não assinou a seguinte. Só quem opera a instalação pode confirmar esta chave.'
  return `O registro de auditoria foi assinado com uma chave que vale desde ${moment(key.since)}.${until}${succession}`
}

/** @param {Proved} verdict @param {string} text */
function showProved(verdict, text) {
  const { event, cancellation } = verdict.receipt
  const { origin, size } = verdict.head
  const isCancelled = cancellation !== undefined || event.type === 'OfflineSaleCancelled'
  const isSale = event.subject.startsWith('sale/')
  const { shop } = trusted
  const isOfShop = shop !== undefined && event.stream === `company-${shop.company}`
  const proved = [
    `${isSale ? 'A venda' : 'O lançamento'} está no registro de auditoria ${isOfShop ? `de ${shop?.name} ` : ''}exatamente como aqui.`,
    wordsOfKey(verdict),
    ...(cancellation ? [`A venda foi cancelada: registrado em ${moment(cancellation.event.recorded_at)}.`] : []),
    'Guarde este recibo: ele prova qualquer alteração posterior.',
  ]
  const open = [
    ...(isCancelled
      ? []
      : [
          `Se ${isSale ? 'a venda foi cancelada ou devolvida' : 'o lançamento foi alterado ou estornado'} depois que este recibo foi feito.`,
        ]),
    ...(isOfShop ? [] : ['O nome da loja: confira com ela.']),
    'Quem comprou e se a mercadoria foi entregue.',
    'Que este recibo é seu: qualquer pessoa com uma cópia pode conferi-lo.',
  ]
  const file = /** @type {HTMLAnchorElement} */ (element('a', 'Salvar o recibo em arquivo'))
  file.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  file.download = `recibo-${event.subject.replace('/', '-')}.json`
  const raw = element(
    'details',
    element('summary', 'Detalhes técnicos'),
    element('p', `Registro ${origin}, posição ${event.revision} de ${size} eventos. Chave ${verdict.key.id}.`),
    element('pre', rawOf(verdict)),
  )
  const isTest = event.data.test === true
  const of = [
    ...(shop && !isOfShop ? [`de outra loja que não ${shop.name}`] : []),
    ...(isTest ? ['de uma empresa de teste'] : []),
    ...(isCancelled ? ['de uma venda cancelada'] : []),
  ]
  show(
    of.length > 0 || !verdict.key.isSigned ? 'warn' : 'good',
    ['Recibo autêntico', ...of].join(' '),
    ...(isTest && isSale ? [element('p', 'Venda de teste: nada foi vendido nem pago.')] : []),
    ...(isSale ? saleOf(event) : accountOf(event)),
    element('h3', 'O que foi provado'),
    list(proved),
    element('h3', 'O que não foi provado'),
    list(open),
    raw,
    element('p', file),
  )
}

/** @param {Proved} verdict */
const rawOf = ({ receipt: { event, cancellation } }) =>
  JSON.stringify(cancellation ? [event, cancellation.event] : event, null, 2)

const FAULTS = {
  unreadable: 'O recibo está incompleto. Peça o arquivo de novo à loja.',
  event_changed:
    'Este recibo foi alterado: o conteúdo não confere com o código que ele traz. A venda na loja não mudou por isso.',
  not_in_log: 'Este recibo foi alterado: a prova não liga a venda mostrada ao registro assinado.',
  other_log: 'Este recibo foi alterado: a assinatura é de outro registro de auditoria.',
  wrong_signature: 'Este recibo foi alterado: a assinatura não é da chave indicada.',
  no_sale: 'O que está provado não é uma venda.',
  other_sale: 'O cancelamento que acompanha o recibo não é desta venda.',
}

/** @param {Verdict} verdict @param {string} text */
function showVerdict(verdict, text) {
  if (verdict.outcome === 'proved') {
    const isWanted = wanted === null || verdict.receipt.event.hash === wanted
    if (isWanted) showProved(verdict, text)
    else show('bad', 'Recibo de outra venda', 'O arquivo é autêntico, mas não é o do código impresso.')
  } else if (verdict.outcome === 'unknown_key') {
    const { head, keyId } = verdict
    show(
      'warn',
      'Nada foi provado: a chave é desconhecida',
      `O recibo diz ser do registro ${head.origin}, assinado com a chave ${keyId}, que esta página não conhece. Qualquer pessoa pode fazer um recibo assim. `,
      'Se o recibo é de outra loja, confira na página dela. Se você salvou esta página há muito tempo, abra a atual.',
    )
  } else if (verdict.outcome === 'unchecked') {
    show(
      'warn',
      'Nada foi provado: este navegador não confere assinaturas',
      'Os cálculos do recibo conferem entre si, mas falta a assinatura (Ed25519), que este navegador não sabe conferir. Atualize-o ou use outro.',
    )
  } else show('bad', 'Recibo inválido', FAULTS[verdict.fault])
}

/** @param {string} given */
async function check(given) {
  const [, hash] = /(?:^|#)hash=([0-9a-f]{64})$/.exec(given.trim()) ?? []
  if (hash) {
    wanted = hash
    return show(
      'warn',
      'Falta o arquivo do recibo',
      'Este recibo é grande demais para caber no código impresso, que traz só a identificação da venda. Peça o arquivo à loja e abra-o aqui para conferir.',
    )
  }
  const text = await readGiven(given)
  showVerdict(await verifyReceipt(text, trusted), text)
}

function checkAddress() {
  if (location.hash.length > 1) check(location.hash)
}

/** Browsers give pages WebCrypto where they came by HTTPS, from this machine, or from a file. */
if (globalThis.crypto?.subtle) {
  byId('arquivo').addEventListener('change', async ({ target }) => {
    const file = /** @type {HTMLInputElement} */ (target).files?.[0]
    if (file) await check(await file.text())
  })
  byId('colado').addEventListener('submit', (event) => {
    event.preventDefault()
    check(/** @type {HTMLTextAreaElement} */ (byId('texto')).value)
  })
  addEventListener('hashchange', checkAddress)
  checkAddress()
} else show('bad', 'Este navegador não pode conferir aqui', 'Abra a página por https:// ou salve-a e abra o arquivo.')
const saving = /** @type {HTMLAnchorElement} */ (byId('salvar').querySelector('a'))
if (location.protocol === 'file:') byId('salvar').hidden = true
else saving.search = location.search
