// Shows what the hub sends by Web Push while no page is open, and takes it back when the
// request is settled. It keeps nothing, and no request of the page goes through it.

self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()))

self.addEventListener('push', (event) => event.waitUntil(show(event.data)))

async function show(data) {
  let message = {}
  try {
    message = data.json()
  } catch {
    // shown all the same: a browser that is sent something has to show something
  }
  const id = Number.isSafeInteger(message.id) && message.id > 0 ? message.id : 0
  const tag = `request-${id}`
  await self.registration.showNotification(String(message.title || 'A request is waiting'), {
    tag,
    data: { id },
    icon: '/icon-192.png',
    badge: '/icon-192.png',
    silent: message.settled === true,
    renotify: message.settled !== true,
    requireInteraction: message.settled !== true,
  })
  if (message.settled !== true) return
  for (const shown of await self.registration.getNotifications({ tag })) shown.close()
}

self.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(event.notification.data?.id ? `/r/${event.notification.data.id}` : '/'))
})

// A page that is open goes there; where none is, or it won't, a new one does.
async function open(path) {
  const pages = await self.clients.matchAll({ type: 'window' })
  for (const page of pages) {
    try {
      await page.focus()
      await page.navigate(path)
      return
    } catch {
      // another one
    }
  }
  await self.clients.openWindow(path)
}
