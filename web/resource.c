/* SPDX-License-Identifier: BSD-3-Clause */
#include "web/resource.h"

#include "web/answer/feedback.h"
#include "web/answer/incidents.h"
#include "web/answer/notes.h"
#include "web/export/shape.h"
#include "web/http/login.h"
#include "web/lifelines/choice.h"
#include "web/lines/lines.h"
#include "web/page/page.h"
#include "web/query/frame_form.h"

const struct resource resources[] = {
#define RESOURCE(address, answer_, take_, ...) \
	{ .path = address, .answer = answer_, .take = take_, __VA_ARGS__ },
#include "web/resources.def"
#undef RESOURCE
};
const size_t resources_count = sizeof(resources) / sizeof(resources[0]);

static bool
is_granted(enum grant least, enum account_role role)
{
	switch (least) {
	case GRANT_NONE: return false;
	case GRANT_ANYBODY: return true;
	case GRANT_TRACES: return role >= ACCOUNT_TRACES;
	case GRANT_METRICS: return role >= ACCOUNT_METRICS;
	case GRANT_VIEWER: return role >= ACCOUNT_VIEWER;
	case GRANT_OPERATOR: return role >= ACCOUNT_OPERATOR;
	case GRANT_ADMIN: return role >= ACCOUNT_ADMIN;
	}
	return false;
}

/* Refuses a method that the resource lacks as if only operators had the method. So a refusal does
 * not show a stranger the methods that exist. */
int
resource_access(const struct resource *r, enum method method, enum account_role role)
{
	enum grant least = method == METHOD_GET ? r->get
	    : method == METHOD_POST             ? r->post
						: GRANT_NONE;
	bool is_open = r->get == GRANT_ANYBODY || r->post == GRANT_ANYBODY, may_see;

	if (is_granted(least, role))
		return 0;
	may_see = is_granted(method == METHOD_GET ? GRANT_VIEWER : GRANT_OPERATOR, role);
	if (least == GRANT_NONE && (is_open || may_see))
		return 405;
	return role == ACCOUNT_NOBODY ? 401 : 403;
}

const char *
resource_allow(const struct resource *r)
{
	return r->body == BODY_JSON ? "POST, PUT"
	    : r->post == GRANT_NONE ? "GET, HEAD"
	    : r->get == GRANT_NONE  ? "POST"
				    : "GET, HEAD, POST";
}
