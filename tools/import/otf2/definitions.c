/*
    definitions.c - the global definitions of an archive, in a child
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2
#define U __attribute__((unused))

static OTF2_CallbackCode put(otf2_child *c, otf2_record r, const void *bytes,
                             size_t size)
{
    return otf2_put(c, r, bytes, size) ? OTF2_CALLBACK_SUCCESS
                                       : OTF2_CALLBACK_INTERRUPT;
}

#define PUT(k, ...) \
    put(user, (otf2_record){ .kind = OTF2_##k, .v = { __VA_ARGS__ } }, NULL, 0)
#define PUT_BYTES(k, bytes, size, ...) \
    put(user, (otf2_record){ .kind = OTF2_##k, .v = { __VA_ARGS__ } }, bytes, \
        size)

static OTF2_CallbackCode take_clock(void *user, uint64_t ticks, uint64_t offset,
                                    U uint64_t length, uint64_t realtime)
{
    const otf2_child *const c = user;
    return PUT(CLOCK, ticks, offset, realtime, c->is_own);
}

static OTF2_CallbackCode take_string(void *user, OTF2_StringRef self,
                                     const char *text)
{
    return PUT_BYTES(STRING, text, text ? strlen(text) : 0, self);
}

static OTF2_CallbackCode take_group(void *user, OTF2_LocationGroupRef self,
                                    OTF2_StringRef name,
                                    OTF2_LocationGroupType type,
                                    OTF2_SystemTreeNodeRef node,
                                    OTF2_LocationGroupRef creator)
{
    return PUT(GROUP, self, name, type, node, creator);
}

static OTF2_CallbackCode take_location(void *user, OTF2_LocationRef self,
                                       OTF2_StringRef name,
                                       OTF2_LocationType type, uint64_t events,
                                       OTF2_LocationGroupRef group)
{
    otf2_child *const c = user;
    if (!cli_grow(&c->locations, &c->room, c->count + 1, sizeof *c->locations))
        return OTF2_CALLBACK_INTERRUPT;
    c->locations[c->count++] = (otf2_location){ self, events };
    return PUT(PLACE, self, name, type, group, events);
}

static OTF2_CallbackCode take_domain(void *user, OTF2_SystemTreeNodeRef node,
                                     OTF2_SystemTreeDomain domain)
{
    return PUT(NODE, node,
               domain == OTF2_SYSTEM_TREE_DOMAIN_ACCELERATOR_DEVICE);
}

static OTF2_CallbackCode
take_region(void *user, OTF2_RegionRef self, OTF2_StringRef name,
            OTF2_StringRef canonical, OTF2_StringRef description,
            OTF2_RegionRole role, OTF2_Paradigm paradigm,
            U OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t line,
            U uint32_t end_line)
{
    return PUT(REGION, self, name, role, paradigm, file, line, canonical,
               description);
}

static OTF2_CallbackCode take_paradigm(void *user, OTF2_Paradigm self,
                                       OTF2_StringRef name,
                                       U OTF2_ParadigmClass class)
{
    return PUT(PARADIGM, self, name);
}

static OTF2_CallbackCode
take_member(void *user, OTF2_MetricMemberRef self, OTF2_StringRef name,
            U OTF2_StringRef description, U OTF2_MetricType type,
            U OTF2_MetricMode mode, U OTF2_Type value_type, OTF2_Base base,
            int64_t exponent, OTF2_StringRef unit)
{
    return PUT(MEMBER, self, name, base, (uint64_t)exponent, unit);
}

static OTF2_CallbackCode take_class(void *user, OTF2_MetricRef self,
                                    uint8_t count,
                                    const OTF2_MetricMemberRef *members,
                                    U OTF2_MetricOccurrence occurrence,
                                    U OTF2_RecorderKind kind)
{
    return PUT_BYTES(CLASS, members, count * sizeof *members, self);
}

static OTF2_CallbackCode take_instance(void *user, OTF2_MetricRef self,
                                       OTF2_MetricRef class,
                                       U OTF2_LocationRef recorder,
                                       OTF2_MetricScope scope, uint64_t of)
{
    return PUT(INSTANCE, self, class, scope, of);
}

static OTF2_CallbackCode take_attribute(void *user, OTF2_AttributeRef self,
                                        OTF2_StringRef name,
                                        U OTF2_StringRef description,
                                        U OTF2_Type type)
{
    return PUT(ATTRIBUTE, self, name);
}

static OTF2_CallbackCode take_parameter(void *user, OTF2_ParameterRef self,
                                        OTF2_StringRef name,
                                        U OTF2_ParameterType type)
{
    return PUT(PARAMETER, self, name);
}

static OTF2_CallbackCode take_context(void *user, OTF2_CallingContextRef self,
                                      OTF2_RegionRef region,
                                      U OTF2_SourceCodeLocationRef place,
                                      U OTF2_CallingContextRef above)
{
    return PUT(CONTEXT, self, region);
}

static OTF2_CallbackCode
take_members(void *user, OTF2_GroupRef self, U OTF2_StringRef name,
             OTF2_GroupType type, OTF2_Paradigm paradigm, OTF2_GroupFlag flags,
             uint32_t count, const uint64_t *members)
{
    return PUT_BYTES(MEMBERS, members, count * sizeof *members, self, type,
                     flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS, paradigm);
}

static OTF2_CallbackCode take_comm(void *user, OTF2_CommRef self,
                                   OTF2_StringRef name, OTF2_GroupRef group,
                                   U OTF2_CommRef parent, U OTF2_CommFlag flags)
{
    return PUT(COMM, self, group, name);
}

static OTF2_CallbackCode take_window(void *user, OTF2_RmaWinRef self,
                                     U OTF2_StringRef name, OTF2_CommRef comm,
                                     U OTF2_RmaWinFlag flags)
{
    return PUT(WINDOW, self, comm);
}

static OTF2_CallbackCode take_property(void *user, OTF2_LocationRef location,
                                       OTF2_StringRef name, OTF2_Type type,
                                       OTF2_AttributeValue value)
{
    if (type != OTF2_TYPE_UINT64) return OTF2_CALLBACK_SUCCESS;
    return PUT(PROPERTY, location, false, name, value.uint64);
}

static OTF2_CallbackCode take_group_property(void *user,
                                             OTF2_LocationGroupRef group,
                                             OTF2_StringRef name,
                                             OTF2_Type type,
                                             OTF2_AttributeValue value)
{
    if (type != OTF2_TYPE_UINT64) return OTF2_CALLBACK_SUCCESS;
    return PUT(PROPERTY, group, true, name, value.uint64);
}

bool otf2_read_definitions(otf2_child *c, OTF2_Reader *reader)
{
    OTF2_GlobalDefReaderCallbacks *const to =
        OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReader *const definitions =
        OTF2_Reader_GetGlobalDefReader(reader);
    uint64_t count;
    if (!to || !definitions) return false;
#define SET(name, take) \
    OTF2_GlobalDefReaderCallbacks_Set##name##Callback(to, take)
    SET(ClockProperties, take_clock);
    SET(String, take_string);
    SET(LocationGroup, take_group);
    SET(Location, take_location);
    SET(SystemTreeNodeDomain, take_domain);
    SET(Region, take_region);
    SET(Paradigm, take_paradigm);
    SET(MetricMember, take_member);
    SET(MetricClass, take_class);
    SET(MetricInstance, take_instance);
    SET(Attribute, take_attribute);
    SET(Parameter, take_parameter);
    SET(CallingContext, take_context);
    SET(Group, take_members);
    SET(Comm, take_comm);
    SET(RmaWin, take_window);
    SET(LocationProperty, take_property);
    SET(LocationGroupProperty, take_group_property);
#undef SET
    return !OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, to,
                                                   c) &&
           !OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count);
}

#else
typedef int otf2_definitions_need_otf2; // a file of C has a declaration
#endif
