/* SPDX-License-Identifier: BSD-3-Clause */
/* Logging in and out, and the list of accounts. */
#include "web/page/page.h"

#include "narrows/account.h"
#include "web/page/html_table.h"

static void
form_write(struct html *h, const char *next)
{
	html_raw(h,
	    "<form class=\"login\" method=\"post\" action=\"/login\"><label>Name<input "
	    "name=\"user\" autocomplete=\"username\" autofocus required maxlength=\"63\"></label>"
	    "<label>Password<input name=\"password\" type=\"password\" "
	    "autocomplete=\"current-password\" required maxlength=\"255\"></label>"
	    "<input type=\"hidden\" name=\"next\"");
	html_attr(h, "value", next);
	html_raw(h, "><button>Log in</button></form>");
}

void
page_login(struct html *h, const char *next, int tried, unsigned wait_s, const char *user)
{
	page_begin(h, &(struct page_frame){ .title = "Log in" });
	html_raw(h, "<h1 class=\"page\">Log in</h1>");
	if (user != NULL) {
		html_raw(h, "<p>You are logged in as ");
		html_text(h, user);
		html_raw(h,
		    ".</p><form class=\"login\" method=\"post\" action=\"/logout\"><button>Log "
		    "out</button></form>");
	}
	if (tried == 401)
		html_raw(h, "<p role=\"alert\">Name and password do not match. Try again.</p>");
	if (tried == 429) {
		html_raw(h, "<p role=\"alert\">Too many attempts. Try again in ");
		html_int(h, wait_s);
		html_raw(h, " s.</p>");
	}
	form_write(h, next);
	html_raw(h,
	    "<p class=\"note\">The box's administrator makes accounts with <code>narrows "
	    "access</code>.</p>");
	page_end(h);
}

static void
account_write(void *arg, const struct account *a)
{
	struct html *h = arg;

	html_raw(h, "<tr><td>");
	html_text(h, a->name);
	if (a->is_token)
		html_raw(h, "</td><td>token</td><td>");
	else
		html_raw(h, "</td><td>user</td><td>");
	html_text(h, account_role_name(a->role));
	html_raw(h, "</td><td>");
	if (a->until_wall_s != 0)
		page_time(h, a->until_wall_s * 1000000000);
	html_raw(h, "</td></tr>");
}

void
page_access(struct html *h, const struct web_access *access, const char *user)
{
	page_begin(h, &(struct page_frame){ .title = "Access" });
	html_raw(h, "<h1>Users and tokens</h1><p>You are logged in as ");
	html_text(h, user);
	html_raw(h,
	    ".</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	    "aria-label=\"Accounts\"><table><thead><tr><th>Name</th><th>Kind</th><th>Role</th>"
	    "<th>Until</th></tr></thead><tbody>");
	if (access->list(access->arg, account_write, h) < 0)
		html_raw(h, "<tr><td colspan=\"4\">The accounts cannot be read.</td></tr>");
	html_raw(h,
	    "</tbody></table></div><p class=\"note\"><code>narrows access</code> makes and removes "
	    "accounts; <code>audit.log</code> in the state directory has all logins and "
	    "attempts.</p>");
	page_end(h);
}
