/** What the provider is told in Portuguese, for whoever reads its panel or our log. */
export const ANSWERS = {
  applied: 'Notificação processada.',
  duplicate: 'Notificação repetida: o pagamento já estava registrado assim.',
  stale: 'Notificação atrasada: o pagamento já passou deste estado.',
  ignored: 'Estado de pagamento desconhecido: nada foi alterado.',
  otherType: 'Só notificações do tipo "payment" são processadas.',
  otherMode: 'O modo da notificação (live_mode) não é o da loja.',
} as const
